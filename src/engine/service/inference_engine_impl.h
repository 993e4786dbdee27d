// Parts of an InferenceEngine. Workers and model are constant after the load; the session table has a mutex.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "engine/llama/context.h"
#include "engine/media/encoder_thread.h"
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

// Limit for the tokens of all waiting embedding and rerank requests: 4 bytes each, and minutes of work.
inline constexpr std::uint64_t kMaxPooledTokens = 4'000'000;

class InferenceEngine::Impl {
 public:
  // Facts of a session that callers read without its worker.
  struct Entry {
    std::shared_ptr<SessionShared> shared;
    std::uint32_t worker = 0;
  };

  Result<Entry> entry(SessionId session) const {
    const MutexLock lock(mutex);
    const auto found = sessions.find(session.value());
    if (found == sessions.end()) return std::unexpected(session_not_found(session));
    return found->second;
  }
  // Makes a worker's memory. An error has its cause, which takes a dry run.
  Result<std::unique_ptr<LlamaContext>> make_context(const std::atomic<bool>& abort);
  Error explain(const Error& error, KvShape shape) const;
  // While loading.
  Result<> add_worker();
  Result<> load_draft();
  Result<> load_projector();
  std::unique_ptr<PrefillLane> make_lane(const std::shared_ptr<CommandBox>& box, std::uint32_t n_ctx);  // nullptr: none
  Result<std::unique_ptr<Drafter>> make_drafter(std::uint32_t n_ctx);  // nullptr: no speculation
  bool may_draft() const;
  Result<> add_pooler();
  // KV cells start small and grow when a session needs more.
  bool grows() const;
  std::uint32_t session_context(std::uint32_t cells) const;
  void take_facts(const LlamaContext& context);
  std::uint32_t max_context(const LlamaContext& context) const;

  void close();  // nothing new starts
  void stop();
  Result<SessionId> create_session(std::uint32_t worker, const SessionOptions& wanted) REQUIRES(mutex);
  Result<AdapterScales> checked_adapters(const AdapterScales& scales) const;
  Result<> append(const Entry& entry, std::vector<Token> tokens, std::vector<MediaSpan> media = {});
  // A token of the vocabulary, or of a picture or sound. Errors: invalid_argument.
  Result<> check_tokens(std::span<const Token> tokens, std::span<const MediaSpan> media = {}) const;
  Result<PooledHandle> pool(PooledState::Job job);

  // Constant after load.
  EngineLoadOptions options;
  bool without_weights = false;  // then there is no worker
  std::shared_ptr<Model> model;
  std::shared_ptr<Model> draft_model;      // draft model of `model`; nullptr: none
  std::unique_ptr<Projector> projector;    // nullptr: the model takes text only
  std::shared_ptr<EncoderThread> encoder;  // uses the projector
  const std::atomic<bool> go_on = false;   // abort flag of passes that are too short to be aborted
  // Runs work that decode threads don't wait for. Declared after what its tasks use, and before its users.
  std::shared_ptr<BackgroundExecutor> executor = std::make_shared<BackgroundThread>();
  std::shared_ptr<BackgroundExecutor> disk =
      std::make_shared<BackgroundThread>();                   // separate, so that a hanging disk does not delay the
                                                              // release of memory
  std::shared_ptr<ParkedStore> store;                         // nullptr: nothing is parked
  std::vector<std::unique_ptr<Worker>> workers;               // of a generative model
  std::vector<std::unique_ptr<PoolingWorker>> poolers;        // of an embedding model or a reranker
  std::optional<ClientQuota> pooled_requests, pooled_tokens;  // limits per client, over all workers
  std::shared_ptr<SessionIds> ids;

  std::once_flag stopped;

  mutable Mutex mutex;
  std::unordered_map<std::uint64_t, Entry> sessions GUARDED_BY(mutex);
  std::uint32_t next_worker GUARDED_BY(mutex) = 0;
  Placement placement GUARDED_BY(mutex);
  AdapterScales default_adapters GUARDED_BY(mutex);  // for sessions that set none; empty: those of the load
};

}  // namespace corral::engine
