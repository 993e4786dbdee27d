// OpenAI's audio/transcriptions and audio/translations: forms with a file of sound. Fields are checked before the model
// is loaded. Only known fields are forwarded, because backends have many more, and some of these crash them. Answers
// have OpenAI's types and shapes, whatever the backend's form.
#pragma once

#include <cstdint>
#include <optional>

#include "dialects/audio/wav_check.h"
#include "dialects/dialect.h"
#include "dialects/form.h"
#include "http/handler.h"

namespace corral::dialects::audio {

enum class TranscriptFormat : std::uint8_t { json, text, verbose_json, srt, vtt };

// Facts of a request for its answer. In Canonical::facts.
struct TranscriptionAsked {
  TranscriptFormat format = TranscriptFormat::json;
  bool words = false, segments = true;  // in verbose_json
  bool stream = false;
  std::optional<CheckedWav> wav = {};  // of the client's file; nothing: it has another format
};

// Errors: missing_field, bad_value, unsupported_value with the field's name; those of check_wav() before all others of
// the file.
Result<Canonical> read_transcription(Form form);
Result<Canonical> read_translation(Form form);

// Takes a whole answer. An error stays unchanged, except for sound that the backend couldn't read.
http::Response translate_transcript(const Canonical& request, http::Response answer);

// The same as events, for clients that request a stream. For answers that aren't events already.
std::string transcript_events(const http::Response& transcript);

}  // namespace corral::dialects::audio
