// The parts of a worker, put together. Each knows those above it that it was given, and none below: what it has to say
// to them it returns.
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

// `box` brings the commands; its abort flag is the one that the memory polls. `memory` is what `make` made with the
// shape of one pool. `clock` is asked at each step. `drafter` and `lane` may be nullptr; the lane's results come
// through the box. `costs`: without one those of a CPU. `growth`: needed where WorkerOptions::max_cells is.
// `explain` says more of an out_of_memory of `make`; that takes a while, so it is a chore: without `chores` nobody
// asks.
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
  // Files of parked KV that have been read, or couldn't be.
  const std::shared_ptr<std::atomic<std::uint64_t>> reads_ended = std::make_shared<std::atomic<std::uint64_t>>(0);

  // What the others work with.
  WorkerStats counters;
  FaultScope faults;
  SessionTable sessions;
  Sequences sequences;
  KvMemoryManager kv;
  const std::uint32_t batch;  // rows that a pass has room for
  StreamWriter writer;
  const PromptBudget prompts;
  // Who runs, and in which memory.
  PrefillLaneController lane;
  GenerationFinisher finisher;
  KvMemoryMigrator migrator;
  AdmissionController admission;
  // A pass, and who makes it.
  Pass pass;  // the latest one
  PassPlanner planner;
  Speculator speculator;
  OutputProcessor output;
  PassRunner runner;
};

}  // namespace corral::engine
