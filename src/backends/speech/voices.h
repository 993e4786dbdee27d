// Voices of programs that speak from a command line: which there are, and what a request means by one. Such a program
// is told a voice as a word of its command, so no other word than the name of a voice gets there.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "models/model_info.h"
#include "proc/child.h"

namespace corral::backends {

struct Voice {
  std::string id;
  std::string name;
  std::string language;
  std::string gender;  // "male", "female"; empty: neither is said
  friend bool operator==(const Voice&, const Voice&) = default;
};
using VoiceList = std::vector<Voice>;

// Of what `espeak-ng --voices` prints. Pure.
VoiceList read_espeak_voices(std::string_view listing);
// A canonical body of audio/speech for espeak-ng: its own name of the voice, and `words_per_minute` for the speed.
// Without voices none is looked up. Errors: bad_value for a voice that there isn't. Pure.
Result<std::string> espeak_body(const std::string& body, const VoiceList& voices);

// Any loop; lists are asked for once and kept.
class Voices {
 public:
  // `spawner` outlives it. `program`: where espeak-ng is; empty: nowhere.
  Voices(proc::Spawner& spawner, std::string (*program)()) : spawner_(spawner), program_(program) {}

  // Errors: not_installed where its program isn't there; unsupported_value for recipes that don't tell.
  async::Task<Result<std::shared_ptr<const VoiceList>>> of(const models::ModelInfo& model);
  // The body as the model's backend wants it.
  async::Task<Result<std::string>> fitted(std::string body, const models::ModelInfo& model);

 private:
  async::Task<Result<std::shared_ptr<const VoiceList>>> ask_espeak();

  proc::Spawner& spawner_;
  std::string (*const program_)();
  std::mutex mutex_;  // held to copy or replace the pointer
  std::shared_ptr<const VoiceList> espeak_;
};

}  // namespace corral::backends
