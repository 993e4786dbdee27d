// What an InferenceEngine consists of. Workers and model are constant after load; the session table has a mutex.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/llama/context.h"
#include "engine/pooled/pooling_worker.h"
#include "engine/service/inference_engine.h"
#include "engine/service/placement.h"
#include "engine/threads/background_executor.h"
#include "engine/threads/client_quota.h"
#include "engine/worker/worker.h"

namespace corral::engine {

inline std::unexpected<Error> going_away() { return fail(errc::worker_shutdown, "the model is being unloaded"); }

inline std::unexpected<Error> no_weights() {
  return fail(errc::no_weights, "the request is valid, but this engine only checks requests");
}

// Of all requests for embeddings or scores that wait for a worker: 4 bytes each, and minutes of work.
inline constexpr std::uint64_t kMostPooledTokens = 4'000'000;

class InferenceEngine::Impl {
 public:
  // What callers need to know of a session without asking its worker.
  struct Entry {
    std::shared_ptr<SessionShared> shared;
    std::uint32_t worker = 0;
  };

  Result<Entry> entry(SessionId session) const {
    const std::scoped_lock lock(mutex);
    const auto found = sessions.find(session.value());
    if (found == sessions.end()) return std::unexpected(session_not_found(session));
    return found->second;
  }
  // A worker's memory, or why there is none. Takes a dry run then.
  Result<std::unique_ptr<Context>> make_context(const std::atomic<bool>& abort);
  Error explain(const Error& error, KvShape shape) const;
  // While loading.
  Result<> add_worker();
  Result<> load_draft();
  std::unique_ptr<PrefillLane> make_lane(const std::shared_ptr<CommandBox>& box, std::uint32_t n_ctx);  // nullptr: none
  Result<std::unique_ptr<Drafter>> make_drafter(std::uint32_t n_ctx);  // nullptr: no guesses
  bool may_guess() const;
  Result<> add_pooler();
  // Its pool begins small and becomes larger when a session needs it.
  bool grows() const;
  void take_facts(const Context& context);
  std::uint32_t most_context(const Context& context) const;

  void close();  // nothing new starts
  void stop();
  Result<SessionId> create_session(std::uint32_t worker, const SessionOptions& wanted);  // under the mutex
  Result<AdapterScales> checked_adapters(const AdapterScales& scales) const;
  Result<> append(const Entry& entry, std::vector<Token> tokens);
  Result<PooledHandle> pool(PooledState::Job job);

  // Constant after load.
  EngineLoadOptions options;
  bool without_weights = false;  // then there is no worker
  std::shared_ptr<Model> model;
  std::shared_ptr<Model> draft_model;     // guesses what the other will say; nullptr: none
  const std::atomic<bool> go_on = false;  // the abort flag of what is short enough to be waited for
  // What the threads of workers don't wait for. Goes behind those that use it, and before what it uses.
  std::shared_ptr<BackgroundExecutor> executor = std::make_shared<BackgroundThread>();
  std::shared_ptr<BackgroundExecutor> disk =
      std::make_shared<BackgroundThread>();                   // a disk that hangs keeps no memory from going back
  std::shared_ptr<ParkedStore> store;                         // nullptr: nothing is parked
  std::vector<std::unique_ptr<Worker>> workers;               // of a generative model
  std::vector<std::unique_ptr<PoolingWorker>> poolers;        // of an embedding model or a reranker
  std::optional<ClientQuota> pooled_requests, pooled_tokens;  // of its clients, over all workers
  std::shared_ptr<SessionIds> ids;

  std::once_flag stopped;

  mutable std::mutex mutex;  // guards all below
  std::unordered_map<std::uint64_t, Entry> sessions;
  std::uint32_t next_worker = 0;
  Placement placement;
  AdapterScales default_adapters;  // of sessions that don't say; empty: as the load says
};

}  // namespace corral::engine
