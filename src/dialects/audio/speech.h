// OpenAI's audio/speech: the request is a text, the answer is sound, streamed while the backend makes it. Backends that
// write to standard output make wav with a wrong length in its header; clients get the requested format. Sound that a
// backend encodes itself passes unchanged.
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

// The body with defaults for absent fields: response_format, and `voice` as a text.
Result<Canonical> read_speech(std::string body);

// Converts the answer to the requested format. Returns when the header of the backend's sound has arrived, so that an
// unreadable one is an error and no broken sound. `threads`: encodes there; null: on the reader's thread. Errors of an
// answer: unsupported_value for formats that this program can't make, remote_upstream for an answer without sound,
// those of the backend.
async::Task<http::Response> translate_speech(const Canonical& request, http::Response answer,
                                             async::ThreadPool* threads);

}  // namespace corral::dialects::audio
