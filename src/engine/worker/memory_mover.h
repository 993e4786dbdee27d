// Which memory the sessions compute in, and the move from one to the next: makes it when it is needed, changes its
// layout where that pays, has it grow. Sessions that run keep their turn, and what they have computed moves with them.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/scheduler.h"
#include "engine/threads/chores.h"
#include "engine/values/stats.h"
#include "engine/worker/endings.h"
#include "engine/worker/lane_desk.h"
#include "engine/worker/memory_keeper.h"
#include "engine/worker/prompt_budget.h"
#include "engine/worker/roster.h"
#include "engine/worker/sequences.h"

namespace corral::engine {

class MemoryMover {
 public:
  struct Parts {
    std::function<MonoTime()> clock;
    std::shared_ptr<Chores> chores;  // may be nullptr
    Roster& roster;
    Sequences& sequences;
    MemoryKeeper& keeper;
    const LaneDesk& lane;
    CostModel& costs;
    const PromptBudget& prompts;
    Endings& endings;
    WorkerStats& counters;
  };
  MemoryMover(Parts parts, const WorkerOptions& options);

  // False: there is none and can be none now. All generations have ended then, or will when it is known what was
  // missing.
  bool ensure();
  // Before each round: ends them if that is known now.
  void tell_refusal();
  // The layout that is best for those that run and wait.
  void choose_layout();
  void change(KvShape shape);
  // A larger pool, for at least so many cells, if there may be one and there is memory for it. True: the memory was
  // made anew, so that nothing is as it was; MemoryKeeper::cells() tells whether it is larger.
  bool grow(std::uint32_t needed);

 private:
  KvShape wanted();

  const WorkerOptions options_;
  const std::function<MonoTime()> clock_;
  const std::shared_ptr<Chores> chores_;
  Roster& roster_;
  Sequences& sequences_;
  MemoryKeeper& keeper_;
  const LaneDesk& lane_;
  CostModel& costs_;
  const PromptBudget& prompts_;
  Endings& endings_;
  WorkerStats& counters_;
  std::vector<RunnableView> runnable_;
  std::vector<LayoutView> views_;
};

}  // namespace corral::engine
