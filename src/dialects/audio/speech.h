// OpenAI's audio/speech: a text comes, sound goes as it is made. Backends that speak to standard output make wav, with
// heads that say nothing true of the length; what clients get is what they asked for. Sound that a backend encodes
// itself passes as it is.
#pragma once

#include <cstdint>
#include <string_view>

#include "async/offload.h"
#include "dialects/dialect.h"
#include "http/handler.h"

namespace corral::dialects::audio {

enum class SpeechFormat : std::uint8_t { mp3, opus, aac, flac, wav, pcm };
std::string_view content_type_of(SpeechFormat format);

// In Canonical::facts.
struct SpeechAsked {
  SpeechFormat format = SpeechFormat::mp3;
};

// The body with what is meant where it says nothing: response_format, and `voice` as a text.
Result<Canonical> read_speech(std::string body);

// The same answer as what was asked for. `threads`: that it is encoded on; none: where it is pulled. Errors of an
// answer: unsupported_value for what can't be made of it here, remote_upstream for what is no sound.
http::Response tell_speech(const Canonical& request, http::Response answer, async::ThreadPool* threads);

}  // namespace corral::dialects::audio
