// Moves long prompts to the prefill lane and back, and divides the compute threads between lane and passes meanwhile.
// At most one session is in the lane; the lane may still be busy after that session has ended. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "engine/cache/kv_memory_manager.h"
#include "engine/cache/sequences.h"
#include "engine/pass/prompt_budget.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/prefill_lane.h"
#include "engine/session/fault_scope.h"
#include "engine/session/session_table.h"
#include "engine/session/stream_writer.h"
#include "engine/session/worker_options.h"
#include "engine/values/stats.h"

namespace corral::engine {

// Threads that the lane leaves to the passes, and threads of the lane itself: half of them, or all if no pass runs.
SetThreads beside_lane(SetThreads all);
std::int32_t threads_of_lane(SetThreads all, bool alone);

class PrefillLaneController {
 public:
  // `lane`: nullptr if there is none. `step` gets the progress of a job, on the lane's thread.
  struct Parts {
    std::unique_ptr<PrefillLane> lane;
    std::function<void(PrefillStep)> step;
    std::function<MonoTime()> clock;
    SessionTable& sessions;
    Sequences& sequences;
    KvMemoryManager& kv;
    CostModel& costs;
    const PromptBudget& prompts;
    const StreamWriter& writer;
    FaultScope& faults;
    WorkerStats& counters;
  };
  PrefillLaneController(Parts parts, const WorkerOptions& options);

  bool busy() const { return busy_; }
  // The session's prompt belongs in the lane, as far as its cells are known. The session is active or waiting.
  bool wants(const Session& session) const;
  // It belongs in the lane, which is busy.
  bool makes_wait(const Session& session) const { return busy_ && wants(session); }
  // Active sessions that belong in the lane: the oldest goes there if the lane is free, the others wait for it.
  void move_aside();

  // The generation of the session in the lane ends. Its result still comes and is discarded.
  void give_up(Session& session);
  // The same, but cannot fail.
  void forget() noexcept;

  void report(const PrefillStep& step) const;
  // The session that was in the lane, and its KV to be restored. The fault scope names the session.
  struct LaneResult {
    Session& session;
    std::uint32_t tokens = 0;
    std::vector<std::uint8_t> bytes;
  };
  // None: the session has ended.
  std::optional<LaneResult> take(PrefillResult result);

  // Sets the total number of threads, for lane and passes.
  void set_threads(SetThreads all);
  void share_threads();

 private:
  void start(Session& session);

  const WorkerOptions options_;
  const std::unique_ptr<PrefillLane> lane_;
  const std::function<void(PrefillStep)> step_;
  const std::function<MonoTime()> clock_;
  SessionTable& sessions_;
  Sequences& sequences_;
  KvMemoryManager& kv_;
  CostModel& costs_;
  const PromptBudget& prompts_;
  const StreamWriter& writer_;
  FaultScope& faults_;
  WorkerStats& counters_;

  SetThreads threads_;  // of lane and passes together
  bool busy_ = false;   // a result is outstanding, even of an ended session
  struct Brought {
    std::uint32_t tokens = 0;
    KvBytes bytes;
  };
  Brought brought_;  // cells that the session in the lane had before
};

}  // namespace corral::engine
