// Predicts the memory need of a load with an engine process: `corral engine --estimate` makes libllama's dry run and
// ends. Predictions are stored, in memory and in a file, by all they depend on: the model's files (path, size, time),
// the load options, the engine version. So each one costs a process once, a few hundred milliseconds.
//
// Lives on the home loop. Equal predictions at the same time share one process; there is one process at a time. If a
// caller is cancelled, the process finishes for the next one.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "backends/files.h"
#include "backends/wrapped_server.h"
#include "base/memory_estimate.h"
#include "proc/child.h"

namespace corral::backends {

struct MemoryPredictorOptions {
  std::filesystem::path program;     // the binary whose `engine --estimate` is the process
  std::filesystem::path cache_file;  // created when needed; empty: in memory only
  std::string engine_version;        // predictions of another version are ignored
  Millis deadline{60'000};           // a process that takes longer is killed
};

class MemoryPredictor {
 public:
  // Reads the cache file; a missing or broken file is an empty one. All references must outlive it.
  MemoryPredictor(async::Executor home, async::Timers& timers, proc::Spawner& spawner, Files& files,
                  MemoryPredictorOptions options);

  // `options` are resolved (Backend::resolve). Errors: those of the process (model_file_not_found, invalid_option,
  // file_unusable, ...; also if the file makes it crash), load_crashed, load_failed after the deadline, files_silent.
  // `anew`: stored predictions are ignored.
  async::Task<Result<MemoryEstimate>> predict(ModelPtr model, LoadOptions options, bool anew = false);
  // The stored prediction, for the files as they were last seen.
  std::optional<MemoryEstimate> known(const models::ModelInfo& model, const LoadOptions& options) const;

  // Whether a load or dry run of these files has succeeded, with any options. For the files as they were last seen.
  bool proven(const models::ModelInfo& model, const LoadOptions& options) const;
  // Records that a load of them has succeeded.
  void prove(const models::ModelInfo& model, const LoadOptions& options);

  // Ends what runs. Once.
  async::Task<void> stop();

 private:
  // A stored refusal. It expires, because a disk that failed once may work again.
  struct Refusal {
    Error error;
    MonoTime until;
  };
  struct Question {
    explicit Question(async::Executor executor) : answered(executor) {}
    std::optional<Result<MemoryEstimate>> answer;
    async::Event answered;
  };

  std::string files_key(const models::ModelInfo& model, const LoadOptions& options) const;
  std::string key_of(const models::ModelInfo& model, const LoadOptions& options) const;
  async::Task<void> answer(std::string key, ModelPtr model, LoadOptions options, std::shared_ptr<Question> question);
  async::Task<Result<MemoryEstimate>> ask_child(ModelPtr model, LoadOptions options, bool& crashed);
  void load_cache();
  void save_cache() const;

  const async::Executor home_;
  async::Timers& timers_;
  proc::Spawner& spawner_;
  Files& files_;
  const MemoryPredictorOptions options_;
  std::map<std::string, MemoryEstimate> answers_;
  std::set<std::string> proven_;             // by files_key()
  std::map<std::string, Refusal> refusals_;  // refusals that don't depend on free memory, for unchanged files
  std::map<std::string, std::shared_ptr<Question>> questions_;
  bool busy_ = false;
  async::Event free_;  // set when no process runs
  async::TaskGroup tasks_;
};

}  // namespace corral::backends
