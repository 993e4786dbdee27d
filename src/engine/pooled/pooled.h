// Result of an embedding or reranking request: like a stream with one item.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/values/types.h"

namespace corral::engine {

struct PooledResult {
  // In input order. embed: one vector of n_embd each, or without pooling one for each token, in one list; rerank: one
  // score each.
  std::vector<std::vector<float>> values;
  std::uint32_t tokens = 0;  // of all inputs together
  double compute_ms = 0;     // from the first batch's start to the last one's end
};

struct PooledTerms {
  bool normalize = true;    // of pooled embeddings: to length 1
  std::string client = {};  // requests with the same text are of one client; clients take turns
};

class PooledState;  // shared with the decode thread

// Move-only; any thread, one reader at a time. Dropping it cancels what isn't computed yet.
class PooledHandle {
 public:
  PooledHandle() = default;
  explicit PooledHandle(std::shared_ptr<PooledState> state);
  PooledHandle(PooledHandle&&) noexcept;
  PooledHandle& operator=(PooledHandle&&) noexcept;
  ~PooledHandle();

  // Waits. Errors: decode_failed, worker_shutdown. Call get or a successful try_get once.
  Result<PooledResult> get();
  // The result if it is there.
  std::optional<Result<PooledResult>> try_get();
  // As StreamHandle::set_waker; called once.
  void set_waker(std::move_only_function<void()> waker);

  explicit operator bool() const { return state_ != nullptr; }

 private:
  std::shared_ptr<PooledState> state_;
};

}  // namespace corral::engine
