// How many prompt tokens the next pass may have, by the cost model and the sessions. One thread.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cache/kv_memory_manager.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/scheduler.h"
#include "engine/session/session_table.h"

namespace corral::engine {

// The scheduler's view of an active or waiting session.
RunnableView runnable_view(const Session& session);

class PromptBudget {
 public:
  // `batch`: most tokens of a pass.
  PromptBudget(const SessionTable& sessions, const KvMemoryManager& kv, const CostModel& costs, std::uint32_t batch,
               std::uint32_t lane_tokens)
      : sessions_(sessions), kv_(kv), costs_(costs), batch_(batch), lane_tokens_(lane_tokens) {}

  // Beside `decoding` running streams. `all_threads`: as if the lane used no threads. Waiting sessions count too: the
  // sooner prompts are done, the sooner sequences are free.
  std::uint32_t beside(std::uint32_t decoding, bool all_threads = false) const;
  // Beside the running streams among `sessions`.
  std::uint32_t beside(std::span<const RunnableView> sessions) const;

 private:
  const SessionTable& sessions_;
  const KvMemoryManager& kv_;
  const CostModel& costs_;
  const std::uint32_t batch_, lane_tokens_;
};

}  // namespace corral::engine
