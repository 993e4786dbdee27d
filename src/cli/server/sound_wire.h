// Bodies of speech requests, and events of transcriptions. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace corral::cli {

struct SpeechRequest {
  std::string model, text;
  std::string voice = {};   // empty: the first of the model
  std::string format = {};  // "wav", "mp3", …
  std::optional<double> speed = {};
};
std::string speech_body(const SpeechRequest& request);

// The text of an event "transcript.text.delta"; empty: none.
std::string transcript_delta(std::string_view data);

}  // namespace corral::cli
