// Decides who goes into the next pass with how many tokens, and how far it is filled up: asks the rules (scheduler.h,
// pass_rows.h) and the cost model with the sessions there are. Computes nothing, takes nobody's cells. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cache/kv_memory_manager.h"
#include "engine/pass/pass.h"
#include "engine/pass/prompt_budget.h"
#include "engine/schedule/adapter_turns.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/scheduler.h"
#include "engine/session/session_table.h"
#include "engine/session/worker_options.h"

namespace corral::engine {

class PassPlanner {
 public:
  struct Parts {
    const SessionTable& sessions;
    const KvMemoryManager& kv;
    CostModel& costs;
    const PromptBudget& prompts;
  };
  // `batch`: rows that a pass has room for.
  PassPlanner(Parts parts, std::uint32_t batch, const WorkerOptions& options);

  // Who goes, with how many tokens. Somebody runs and there is a memory.
  void plan(Pass& pass);
  // Adds rows that nobody wants, where the running streams are quicker with them. Behind the guesses.
  void fill_up(Pass& pass);

 private:
  Session* next_suspect() const;
  void choose_adapters();
  void take_turns(Pass& pass);
  void find_padding(Pass& pass, std::uint32_t rows) const;

  const SessionTable& sessions_;
  const KvMemoryManager& kv_;
  CostModel& costs_;
  const PromptBudget& prompts_;
  const std::uint32_t batch_, max_outputs_;
  AdapterTurns turns_;
  std::vector<const AdapterScales*> wanted_;  // by those that run
  std::vector<Session*> going_;               // those with the adapters of the pass
  std::vector<RunnableView> views_;           // of these
};

}  // namespace corral::engine
