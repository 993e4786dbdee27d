// One transcript of those of consecutive pieces: texts are joined, times count from the beginning of the whole sound.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialects/audio/transcription.h"
#include "json/value.h"

namespace corral::dialects::audio {

class JoinedTranscript {
 public:
  // `asked`: what the client wants of the whole.
  explicit JoinedTranscript(const TranscriptionAsked& asked) : asked_(asked) {}

  // What each piece is asked for.
  static TranscriptionAsked of_piece(const TranscriptionAsked& whole);

  // A translated transcript (translate_transcript()) of a piece that begins at this second. Returns the text that it
  // adds, with the space before it. Errors: remote_upstream.
  Result<std::string> add(const http::Response& transcript, double at);
  const std::string& text() const { return text_; }
  // In the requested format. `duration` of the whole sound, in seconds.
  http::Response whole(double duration) const;

 private:
  std::string cues(bool vtt) const;

  const TranscriptionAsked asked_;
  std::string task_, language_, text_;
  std::vector<json::Value> segments_, words_;  // with times of the whole
};

// Events of a stream of transcripts.
std::string transcript_delta_event(std::string_view text);
std::string transcript_done_events(std::string_view text);

}  // namespace corral::dialects::audio
