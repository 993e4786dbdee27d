// Moves sessions from one KV memory to the next: allocates the first one, changes the layout if that pays, grows it.
// Running sessions keep their turn and their computed cells. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/cache/kv_memory_manager.h"
#include "engine/cache/sequences.h"
#include "engine/pass/prompt_budget.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/scheduler.h"
#include "engine/session/session_table.h"
#include "engine/threads/background_executor.h"
#include "engine/values/stats.h"
#include "engine/worker/generation_finisher.h"
#include "engine/worker/prefill_lane_controller.h"

namespace corral::engine {

class KvMemoryMigrator {
 public:
  struct Parts {
    std::function<MonoTime()> clock;
    std::shared_ptr<BackgroundExecutor> executor;  // may be nullptr
    SessionTable& sessions;
    Sequences& sequences;
    KvMemoryManager& kv;
    const PrefillLaneController& lane;
    CostModel& costs;
    const PromptBudget& prompts;
    GenerationFinisher& finisher;
    WorkerStats& counters;
  };
  KvMemoryMigrator(Parts parts, const WorkerOptions& options);

  // False: there is none and can be none now. All generations have ended then, or will when it is known what was
  // missing.
  bool ensure();
  // Before each round: ends them if that is known now.
  void tell_refusal();
  // The layout that is best for those that run and wait.
  void choose_layout();
  void change(KvShape shape);
  // A larger pool, for at least so many cells, if there may be one and there is memory for it. True: the memory was
  // made anew, so that nothing is as it was; KvMemoryManager::cells() tells whether it is larger.
  bool grow(std::uint32_t needed);

 private:
  KvShape wanted();

  const WorkerOptions options_;
  const std::function<MonoTime()> clock_;
  const std::shared_ptr<BackgroundExecutor> executor_;
  SessionTable& sessions_;
  Sequences& sequences_;
  KvMemoryManager& kv_;
  const PrefillLaneController& lane_;
  CostModel& costs_;
  const PromptBudget& prompts_;
  GenerationFinisher& finisher_;
  WorkerStats& counters_;
  std::vector<RunnableView> runnable_;
  std::vector<LayoutView> views_;
};

}  // namespace corral::engine
