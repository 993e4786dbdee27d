// Computes a pass and sees to what comes of it: tokens, times, or somebody who is to blame. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/cache/kv_memory_manager.h"
#include "engine/cache/sequences.h"
#include "engine/kv/batch.h"
#include "engine/pass/pass.h"
#include "engine/schedule/cost_model.h"
#include "engine/session/fault_scope.h"
#include "engine/session/session_table.h"
#include "engine/session/stream_writer.h"
#include "engine/values/stats.h"
#include "engine/worker/commands.h"
#include "engine/worker/generation_finisher.h"
#include "engine/worker/output_processor.h"

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
    SessionTable& sessions;
    Sequences& sequences;
    KvMemoryManager& kv;
    CostModel& costs;
    const StreamWriter& writer;
    OutputProcessor& output;
    GenerationFinisher& finisher;
    FaultScope& faults;
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
  SessionTable& sessions_;
  Sequences& sequences_;
  KvMemoryManager& kv_;
  CostModel& costs_;
  const StreamWriter& writer_;
  OutputProcessor& output_;
  GenerationFinisher& finisher_;
  FaultScope& faults_;
  WorkerStats& counters_;
  Batch batch_;
  std::vector<std::uint64_t> prefilling_;
};

}  // namespace corral::engine
