// A worker of an embedding or reranking model: packs the inputs of all requests that wait into forward passes, in which
// requests take turns (pooled_pass.h). One context, one thread. start() and stop() once each. An exception on the
// thread fails the requests of the pass with worker_failed; the context is made again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "engine/llama/context.h"
#include "engine/pooled/pooled_pass.h"
#include "engine/pooled/pooled_state.h"
#include "engine/pooled/pooled_turns.h"
#include "engine/threads/mailbox.h"
#include "engine/values/stats.h"
#include "engine/worker/commands.h"

namespace corral::engine {

using PoolingCommand = std::variant<std::shared_ptr<PooledState>, SetThreads, Downsize>;
using PoolingBox = Mailbox<PoolingCommand>;

class PoolingWorker {
 public:
  using ContextMaker = std::function<Result<std::unique_ptr<LlamaContext>>()>;

  // The context polls the abort flag of `box`; `make` makes another context after a downsize.
  PoolingWorker(std::shared_ptr<const Model> model, std::unique_ptr<LlamaContext> context, ContextMaker make,
                std::shared_ptr<PoolingBox> box);
  ~PoolingWorker();

  void start();
  // Requests that are not complete fail with worker_shutdown.
  void stop();

  PoolingBox& box() { return *box_; }
  // Requests that have started and not ended.
  InFlight& in_flight() { return in_flight_; }
  const InFlight& in_flight() const { return in_flight_; }
  WorkerStats stats() const;

 private:
  struct Input {
    std::shared_ptr<PooledState> job;
    std::size_t index = 0;
    const std::vector<Token>& tokens() const { return job->job().inputs[index]; }
  };

  void run();
  void publish();
  bool step() noexcept;
  void recover(const char* what) noexcept;
  void take(std::vector<PoolingCommand>& commands);
  void downsize(Downsize& command);
  // False if there is no memory: all waiting requests have failed.
  bool ensure_context();
  // One pass over as many inputs as fit. False if there are none.
  bool compute_pass();
  void plan_pass();
  void find_blame();
  DecodeStatus decode(std::span<const Input> inputs);
  // `row`: the first one of the input in the batch.
  void deliver(const Input& input, std::int32_t sequence, std::int32_t row);

  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<PoolingBox> box_;
  InFlight in_flight_;
  const ContextMaker make_;
  const PooledLimits limits_;

  // Worker thread.
  std::unique_ptr<LlamaContext> context_;  // none after a downsize
  std::optional<SetThreads> threads_;
  PooledTurns waiting_;
  std::vector<Input> pass_;
  Batch batch_;
  WorkerStats counters_;

  mutable Mutex stats_mutex_;
  WorkerStats published_ GUARDED_BY(stats_mutex_);
  std::thread thread_;
};

}  // namespace corral::engine
