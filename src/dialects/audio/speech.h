// OpenAI's audio/speech: the request is a text, the answer is sound, streamed while the backend makes it. Backends that
// write to standard output make wav with a wrong length in its header; clients get the requested format. Sound that a
// backend encodes itself passes unchanged.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "async/offload.h"
#include "dialects/audio/wav.h"
#include "dialects/dialect.h"
#include "http/handler.h"

namespace corral::dialects::audio {

enum class SpeechFormat : std::uint8_t { mp3, opus, aac, flac, wav, pcm };
std::string_view content_type_of(SpeechFormat format);

// In Canonical::facts.
struct SpeechAsked {
  SpeechFormat format = SpeechFormat::mp3;
};

// Whether this program can't make it of a backend's wav: another program must.
bool needs_program(SpeechFormat format);
// For such a format if that program is missing. unsupported_value, with the formats that work.
Error needs_ffmpeg(SpeechFormat format);

// The body with defaults for absent fields: response_format, and `voice` as a text.
Result<Canonical> read_speech(std::string body);

// Whether the answer of a backend is wav, which needs a conversion.
bool is_wav(const http::Response& answer);
// The samples of such an answer as they arrive: 16 bits, little-endian.
struct SpeechSamples {
  WavFormat format;
  std::unique_ptr<http::BodySource> source;
};
// Returns when the header has arrived. Errors: as those of translate_speech().
async::Task<Result<SpeechSamples>> samples_of(http::Response answer, async::ThreadPool* threads);

// Converts the answer to the requested format. Returns when the header of the backend's sound has arrived, so that an
// unreadable one is an error and no broken sound. `threads`: encodes there; null: on the reader's thread. Errors of an
// answer: unsupported_value for formats that this program can't make, remote_upstream for an answer without sound,
// those of the backend.
async::Task<http::Response> translate_speech(const Canonical& request, http::Response answer,
                                             async::ThreadPool* threads);

}  // namespace corral::dialects::audio
