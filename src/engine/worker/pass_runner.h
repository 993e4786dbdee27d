// Computes a pass and sees to what comes of it: tokens, times, or somebody who is to blame. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/kv/batch.h"
#include "engine/schedule/cost_model.h"
#include "engine/values/stats.h"
#include "engine/worker/answer_writer.h"
#include "engine/worker/commands.h"
#include "engine/worker/endings.h"
#include "engine/worker/in_hand.h"
#include "engine/worker/memory_keeper.h"
#include "engine/worker/pass.h"
#include "engine/worker/roster.h"
#include "engine/worker/sequences.h"
#include "engine/worker/token_taker.h"

namespace corral::engine {

// Puts a pass into a batch, and notes where the logits of each item will be (PassItem::row). `prefilling`: the sessions
// with tokens of their prompts in it. Returns how many tokens these are.
std::uint32_t fill_batch(Pass& pass, Batch& batch, std::vector<std::uint64_t>& prefilling);

class PassRunner {
 public:
  // Commands that come through `box` may cut a pass short.
  struct Parts {
    std::shared_ptr<CommandBox> box;
    std::function<MonoTime()> clock;
    Roster& roster;
    Sequences& sequences;
    MemoryKeeper& keeper;
    CostModel& costs;
    const AnswerWriter& writer;
    TokenTaker& taker;
    Endings& endings;
    InHand& hand;
    WorkerStats& counters;
  };
  // `batch`: rows that a pass has room for.
  PassRunner(Parts parts, std::uint32_t batch);

  // False: the memory has no cells for it, and nothing was computed. Then the ledger was wrong.
  bool run(Pass& pass);

 private:
  void begin(const Pass& pass, MonoTime now);
  void count(const Pass& pass, std::uint32_t prefill, double ms);
  void take_results(const Pass& pass);
  void find_blame(const Pass& pass);

  const std::shared_ptr<CommandBox> box_;
  const std::function<MonoTime()> clock_;
  Roster& roster_;
  Sequences& sequences_;
  MemoryKeeper& keeper_;
  CostModel& costs_;
  const AnswerWriter& writer_;
  TokenTaker& taker_;
  Endings& endings_;
  InHand& hand_;
  WorkerStats& counters_;
  Batch batch_;
  std::vector<std::uint64_t> prefilling_;
};

}  // namespace corral::engine
