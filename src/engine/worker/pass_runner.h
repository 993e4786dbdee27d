// Computes a pass and applies its results: tokens, times, or a search for the session that makes it fail. One thread.
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

// Writes a pass into a batch, and sets PassItem::row to the rows of the logits. `prefilling`: sessions with prompt
// tokens in the pass. Returns the number of prompt tokens.
std::uint32_t fill_batch(Pass& pass, Batch& batch, std::vector<std::uint64_t>& prefilling);

// The same for a pass of Pass::media.
std::uint32_t fill_media_batch(Pass& pass, Batch& batch, std::vector<std::uint64_t>& prefilling);

class PassRunner {
 public:
  // Commands in `box` may abort a pass.
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
  // `batch`: most rows of a pass.
  PassRunner(Parts parts, std::uint32_t batch);

  // False: the memory has no cells for the pass, so the ledger was wrong. Nothing was computed.
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
