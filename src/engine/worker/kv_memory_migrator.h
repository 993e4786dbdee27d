// Moves sessions from one KV memory to the next: allocates the memory, changes the layout if that pays, grows it.
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

  // Allocates the memory if there is none. False: not possible now. Then all generations have ended, or will end when
  // the cause is known.
  bool ensure();
  // Called at each step: ends all generations once the cause is known.
  void report_refusal();
  // Changes to the best layout for active and waiting sessions.
  void choose_layout();
  void change(KvShape shape);
  // Grows a unified memory to at least `needed` cells, if it may grow and memory is free. True: the memory was
  // replaced, so pointers and states of before are invalid; KvMemoryManager::cells() shows whether it is larger.
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
