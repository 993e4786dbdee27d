// How many prompt tokens the next pass may have: asks the cost model, with the sessions there are. One thread.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cache/kv_memory_manager.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/scheduler.h"
#include "engine/session/session_table.h"

namespace corral::engine {

// A session that runs or waits, as the scheduler sees it.
RunnableView runnable_view(const Session& session);

class PromptBudget {
 public:
  // `batch`: tokens that a pass has room for.
  PromptBudget(const SessionTable& sessions, const KvMemoryManager& kv, const CostModel& costs, std::uint32_t batch,
               std::uint32_t lane_tokens)
      : sessions_(sessions), kv_(kv), costs_(costs), batch_(batch), lane_tokens_(lane_tokens) {}

  // Beside so many running streams; `all_threads`: if the lane took none. Those that wait for a place count: the sooner
  // the prompts are through, the sooner places are free.
  std::uint32_t beside(std::uint32_t decoding, bool all_threads = false) const;
  // Beside the running streams of these.
  std::uint32_t beside(std::span<const RunnableView> sessions) const;

 private:
  const SessionTable& sessions_;
  const KvMemoryManager& kv_;
  const CostModel& costs_;
  const std::uint32_t batch_, lane_tokens_;
};

}  // namespace corral::engine
