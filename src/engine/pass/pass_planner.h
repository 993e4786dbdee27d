// Decides which sessions go into the next pass, with how many tokens and padding rows. Applies the rules (scheduler.h,
// pass_rows.h) and the cost model to the sessions. Computes nothing and takes no session's cells. One thread.
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
  // `batch`: most rows of a pass.
  PassPlanner(Parts parts, std::uint32_t batch, const WorkerOptions& options);

  // Chooses sessions and tokens. Requires an active session and a KV memory. Empty: all active sessions need embeddings
  // that they do not have.
  void plan(Pass& pass);
  // Adds padding rows behind the draft tokens, if they make the pass of running streams faster.
  void fill_up(Pass& pass);

 private:
  Session* next_suspect() const;
  bool plan_media(Pass& pass) const;
  void choose_adapters();
  void take_turns(Pass& pass);
  void find_padding(Pass& pass, std::uint32_t rows) const;

  const SessionTable& sessions_;
  const KvMemoryManager& kv_;
  CostModel& costs_;
  const PromptBudget& prompts_;
  const std::uint32_t batch_, max_outputs_;
  AdapterTurns turns_;
  bool last_was_media_ = false;
  std::vector<const AdapterScales*> wanted_;  // adapter sets of the active sessions
  std::vector<Session*> going_;               // sessions with the adapters of the pass
  std::vector<RunnableView> views_;           // of `going_`
};

}  // namespace corral::engine
