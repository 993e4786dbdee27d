// Moves long prompts to the prefill lane and back, and divides the compute threads between lane and passes meanwhile.
// One session is in the lane at a time; the lane may still be busy after that session has ended. One thread.
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

// What the lane leaves of so many threads, and what it has itself: half of them, or all when nobody else computes.
SetThreads beside_lane(SetThreads all);
std::int32_t threads_of_lane(SetThreads all, bool alone);

class PrefillLaneController {
 public:
  // `lane`: nullptr, if there is none. `step` takes what a job says of its progress, on the lane's thread.
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
  // It belongs there, by what is known of its cells now. It is active or waiting.
  bool wants(const Session& session) const;
  // Its turn comes when the lane is free.
  bool makes_wait(const Session& session) const { return busy_ && wants(session); }
  // Those that run and belong there: the oldest goes aside if the lane is free, the others wait for it.
  void move_aside();

  // The generation of the one that is aside ends. Its result still comes, and nobody wants it.
  void give_up(Session& session);
  // The same, without a step that could fail.
  void forget() noexcept;

  void tell(const PrefillStep& step) const;
  // Who has been aside, and what there is of it to be put into cells. It is in hand.
  struct LaneResult {
    Session& session;
    std::uint32_t tokens = 0;
    std::vector<std::uint8_t> bytes;
  };
  // Nothing: nobody wants it any more.
  std::optional<LaneResult> take(PrefillResult result);

  // All that there are.
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

  SetThreads threads_;  // all there are
  bool busy_ = false;   // a result is to come, wanted or not
  struct Brought {
    std::uint32_t tokens = 0;
    KvBytes bytes;
  };
  Brought brought_;  // what the one that is aside had in cells before
};

}  // namespace corral::engine
