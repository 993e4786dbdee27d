// How much memory a load will take, asked of a child of its own: `corral engine --estimate` makes libllama's dry run
// and ends. Answers are kept, in memory and in a file, by everything they depend on: the model's files (path, size,
// time), the load options, the version of the engine. So each question costs a child once, a few hundred milliseconds.
//
// Lives on the home loop. Equal questions at the same time share one child; there is one child at a time. Who gives up
// waiting leaves the child to finish for the next one.
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

// All files that a load with these options reads.
std::vector<std::filesystem::path> files_of(const models::ModelInfo& model, const LoadOptions& options);

struct MemoryPredictorOptions {
  std::filesystem::path program;     // the binary whose `engine --estimate` is the child
  std::filesystem::path cache_file;  // made when needed; empty: answers are kept in memory only
  std::string engine_version;        // answers of another version don't count
  Millis deadline{60'000};           // a child that takes longer is killed
};

class MemoryPredictor {
 public:
  // Reads the cache file; one that is missing or broken is an empty one. What is referred to must outlive it.
  MemoryPredictor(async::Executor home, async::Timers& timers, proc::Spawner& spawner, Files& files,
                  MemoryPredictorOptions options);

  // `options` are resolved ones (Backend::resolve). Errors: what the child says (model_file_not_found, invalid_option,
  // file_unusable, ...; also if the file makes it crash), load_crashed, load_failed for a child that is late,
  // files_silent.
  // `anew`: what was known before doesn't count.
  async::Task<Result<MemoryEstimate>> predict(ModelPtr model, LoadOptions options, bool anew = false);
  // What is known without asking, of the files as they were last seen.
  std::optional<MemoryEstimate> known(const models::ModelInfo& model, const LoadOptions& options) const;

  // Whether a load of these files has succeeded, or a dry run of it, with whatever options. As files were last seen.
  bool proven(const models::ModelInfo& model, const LoadOptions& options) const;
  // A load of them has succeeded.
  void prove(const models::ModelInfo& model, const LoadOptions& options);

  // Ends what runs. Once.
  async::Task<void> stop();

 private:
  // One question under way, and who waits for its answer.
  // A disk that failed once may be well again: it holds for a while only.
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
  std::map<std::string, Refusal> refusals_;  // whatever memory is free; of files that stay as they are
  std::map<std::string, std::shared_ptr<Question>> questions_;
  bool busy_ = false;
  async::Event free_;  // no child runs
  async::TaskGroup tasks_;
};

}  // namespace corral::backends
