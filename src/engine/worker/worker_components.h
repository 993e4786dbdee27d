// All parts of a worker. Each part uses only parts above it, and returns results for the others.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "engine/cache/kv_memory_manager.h"
#include "engine/cache/sequences.h"
#include "engine/kv/kv_memory.h"
#include "engine/kv/parked_store.h"
#include "engine/kv/token_table.h"
#include "engine/pass/pass.h"
#include "engine/pass/pass_planner.h"
#include "engine/pass/prompt_budget.h"
#include "engine/pass/speculator.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/drafter.h"
#include "engine/schedule/prefill_lane.h"
#include "engine/session/fault_scope.h"
#include "engine/session/session_table.h"
#include "engine/session/stream_writer.h"
#include "engine/session/worker_options.h"
#include "engine/threads/background_executor.h"
#include "engine/values/stats.h"
#include "engine/worker/admission_controller.h"
#include "engine/worker/commands.h"
#include "engine/worker/generation_finisher.h"
#include "engine/worker/kv_memory_migrator.h"
#include "engine/worker/output_processor.h"
#include "engine/worker/pass_runner.h"
#include "engine/worker/prefill_lane_controller.h"

namespace corral::engine {

// `box` delivers the commands; the memory polls its abort flag. `memory` was made by `make` with a unified layout.
// `clock` is read at each step. `drafter` and `lane` may be nullptr; the lane posts its results to the box. `costs`:
// nullptr means those of a CPU. `growth` is required if WorkerOptions::max_cells is set. `explain` finds the cause of
// an out_of_memory of `make`. That takes a while, so it runs on `executor`; without one no cause is sought.
struct WorkerParts {
  const TokenTable& tokens;
  std::unique_ptr<KvMemory> memory;
  KvMaker make;
  KvGrowth growth = {};
  std::shared_ptr<CommandBox> box;
  std::shared_ptr<ParkedStore> store;
  std::unique_ptr<CostModel> costs = {};
  std::unique_ptr<Drafter> drafter;
  std::unique_ptr<PrefillLane> lane;
  std::shared_ptr<MediaEncoder> media = nullptr;
  std::shared_ptr<BackgroundExecutor> executor = nullptr;
  std::function<Error(const Error&, KvShape)> explain = {};
  std::function<MonoTime()> clock = [] { return MonoClock::now(); };
};

struct WorkerComponents {
  WorkerComponents(WorkerParts parts, const WorkerOptions& options);
  WorkerComponents(const WorkerComponents&) = delete;
  WorkerComponents& operator=(const WorkerComponents&) = delete;

  WorkerStats stats() const;

  const WorkerOptions options;
  const std::shared_ptr<CommandBox> box;
  const std::function<MonoTime()> clock;
  const std::unique_ptr<CostModel> costs;
  // Number of finished reads of parked KV, failed ones too.
  const std::shared_ptr<std::atomic<std::uint64_t>> reads_ended = std::make_shared<std::atomic<std::uint64_t>>(0);

  // State that the other parts use.
  WorkerStats counters;
  FaultScope faults;
  SessionTable sessions;
  Sequences sequences;
  KvMemoryManager kv;
  const std::uint32_t batch;  // most rows of a pass
  StreamWriter writer;
  const PromptBudget prompts;
  // Admission and memory.
  PrefillLaneController lane;
  GenerationFinisher finisher;
  MediaInputs media;
  KvMemoryMigrator migrator;
  AdmissionController admission;
  // The pass.
  Pass pass;  // the latest one
  PassPlanner planner;
  Speculator speculator;
  OutputProcessor output;
  PassRunner runner;
};

}  // namespace corral::engine
