// Adds draft tokens of running streams to a pass that has room for them. No session loses cells to draft tokens, and a
// pass that measures costs or searches for a failing session gets none. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/cache/kv_memory_manager.h"
#include "engine/pass/pass.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/draft_length.h"
#include "engine/schedule/drafter.h"
#include "engine/session/worker_options.h"

namespace corral::engine {

class Speculator {
 public:
  // `drafter` may be nullptr: no draft tokens. `batch`: most rows of a pass.
  Speculator(std::unique_ptr<Drafter> drafter, const KvMemoryManager& kv, const CostModel& costs, std::uint32_t batch,
             const WorkerOptions& options);

  // Adds draft tokens to a planned pass. `running`: number of active sessions.
  void add(Pass& pass, std::size_t running);
  // The session ended.
  void forget(SessionId session);
  // Frees memory.
  void downsize();
  // After an interrupted change. The drafter's state may stay inexact: the model verifies each draft token anyway.
  void start_over() noexcept;

 private:
  bool may_draft(const Pass& pass, std::size_t running) const;
  void draft(Pass& pass, std::uint32_t room);
  void choose(Pass& pass, std::uint32_t room);
  std::uint32_t room_behind(const Session& session) const;

  const std::unique_ptr<Drafter> drafter_;
  const KvMemoryManager& kv_;
  const CostModel& costs_;
  const std::uint32_t batch_;
  const std::uint32_t max_tokens_, max_running_;
  std::vector<DraftList> lists_;
};

}  // namespace corral::engine
