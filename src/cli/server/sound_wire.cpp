#include "cli/server/sound_wire.h"

#include "cli/server/answer_fields.h"

namespace corral::cli {

std::string speech_body(const SpeechRequest& request) {
  json::Object body{{"model", request.model}, {"input", request.text}, {"response_format", request.format}};
  if (!request.voice.empty()) body["voice"] = request.voice;
  if (request.speed) body["speed"] = *request.speed;
  return json::serialize(body);
}

std::string transcript_delta(std::string_view data) {
  const auto value = parse_answer(data);
  return value ? text_of(*value, "delta") : std::string();
}

}  // namespace corral::cli
