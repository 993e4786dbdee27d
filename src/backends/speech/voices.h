// Voices of command-line speech programs: their list, and the meaning of a request's voice. The voice becomes a word of
// the command, so only names of voices are allowed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "async/timer.h"
#include "base/mutex.h"
#include "models/model_info.h"
#include "proc/child.h"

namespace corral::backends {

struct Voice {
  std::string id;
  std::string name;
  std::string language;
  std::string gender;                     // "male", "female"; empty: unknown
  std::string file = {};                  // its other name in commands
  std::vector<std::string> aliases = {};  // other languages that mean it: "fr" of "fr-fr"
  friend bool operator==(const Voice&, const Voice&) = default;
};
using VoiceList = std::vector<Voice>;

// One of OpenAI's voices, and the voice of espeak-ng that it means.
struct OpenaiVoice {
  std::string_view name, own;
};
std::span<const OpenaiVoice> openai_voices();
// Whether the voices of a backend are those of espeak-ng, so that OpenAI's have a meaning.
bool speaks_by_espeak(const models::ModelInfo& model);

// Parses the output of `espeak-ng --voices`. A second voice of a language has its file as `id`. Pure.
VoiceList read_espeak_voices(std::string_view listing);
// Converts a canonical body of audio/speech for espeak-ng: its own name of the voice, and `words_per_minute` for the
// speed. The default voice and OpenAI's voices need no `voices`. Errors: bad_value for an unknown voice, with close
// names. Pure.
Result<std::string> espeak_body(const std::string& body, const VoiceList& voices);

// Any loop; lists are read once and kept.
class Voices {
 public:
  // `spawner` and `timers` must outlive it. `program`: the path of espeak-ng; empty: not installed.
  Voices(proc::Spawner& spawner, async::Timers& timers, std::string (*program)())
      : spawner_(spawner), timers_(timers), program_(program) {}

  // Errors: backend_not_installed if its program is missing; load_failed if it lists nothing, or nothing in time;
  // unsupported_value for recipes without a list of voices.
  async::Task<Result<std::shared_ptr<const VoiceList>>> of(const models::ModelInfo& model);
  // The body in the format of the model's backend.
  async::Task<Result<std::string>> fitted(std::string body, const models::ModelInfo& model);

 private:
  async::Task<Result<std::shared_ptr<const VoiceList>>> ask_espeak();

  proc::Spawner& spawner_;
  async::Timers& timers_;
  std::string (*const program_)();
  Mutex mutex_;  // held to copy or replace the pointer
  std::shared_ptr<const VoiceList> espeak_ GUARDED_BY(mutex_);
};

}  // namespace corral::backends
