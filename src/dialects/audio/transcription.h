// OpenAI's audio/transcriptions and audio/translations: forms with a file of sound. What a client may say is checked
// before a model is loaded; what goes on has known fields only, since backends have many more, some of which take them
// down. What is answered comes in the types and shapes of OpenAI's, whatever the backend makes of them.
#pragma once

#include <cstdint>

#include "dialects/dialect.h"
#include "dialects/form.h"
#include "http/handler.h"

namespace corral::dialects::audio {

enum class TranscriptFormat : std::uint8_t { json, text, verbose_json, srt, vtt };

// Of a request, for its answer. In Canonical::facts.
struct TranscriptionAsked {
  TranscriptFormat format = TranscriptFormat::json;
  bool words = false, segments = true;  // in verbose_json
  bool stream = false;
};

// Errors: missing_field, bad_value, unsupported_value with the field's name.
Result<Canonical> read_transcription(Form form);
Result<Canonical> read_translation(Form form);

// An answer that was held whole. One that says no stays, but for what the backend couldn't hear.
http::Response tell_transcript(const Canonical& request, http::Response answer);

// The same as events: what a client gets that asked for a stream. For answers that aren't events already.
std::string transcript_events(const http::Response& told);

}  // namespace corral::dialects::audio
