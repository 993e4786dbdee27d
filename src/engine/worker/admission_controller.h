// Admits sessions to the batch, and preempts them when KV cells run out. One thread.
//
// Those that wait are looked at by turns (turn_order.h). Who is let in has cells for its history and for some tokens of
// its answer, and so have all that run: nobody is let in to be sent away at once. The oldest generation always gets on,
// so all get through in the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "engine/cache/kv_memory_manager.h"
#include "engine/cache/sequences.h"
#include "engine/pass/pass.h"
#include "engine/session/fault_scope.h"
#include "engine/session/session_table.h"
#include "engine/values/stats.h"
#include "engine/worker/generation_finisher.h"
#include "engine/worker/kv_memory_migrator.h"
#include "engine/worker/prefill_lane_controller.h"

namespace corral::engine {

class AdmissionController {
 public:
  // `reads_ended`: files of parked KV that have been read, or couldn't be. Until there are more, who waits for one
  // isn't looked up.
  struct Parts {
    std::function<MonoTime()> clock;
    std::shared_ptr<const std::atomic<std::uint64_t>> reads_ended;
    SessionTable& sessions;
    Sequences& sequences;
    KvMemoryManager& kv;
    KvMemoryMigrator& migrator;
    PrefillLaneController& lane;
    GenerationFinisher& finisher;
    FaultScope& faults;
    WorkerStats& counters;
  };
  AdmissionController(Parts parts, const WorkerOptions& options);

  // Those whose readers have read wait for their turn again.
  void resume_paused();
  void admit();
  // When to look again though nothing has happened: for those that wait for a file, or for an explanation.
  std::optional<MonoTime> look_again() const { return look_again_; }
  // Who comes from the lane has a place, if it can stay; else it waits.
  void take_home(PrefillLaneController::LaneResult home);

  // Cells for all tokens of the pass, at the cost of those that don't run. False: there aren't so many.
  bool find_cells(const Pass& pass);
  // The pass has no cells: somebody loses its place, or all get others.
  void make_room();

 private:
  CellClaims claims() const;
  Sequences::Attach attach(Session& session);
  bool admit_who_fits();
  std::uint32_t background_running() const;
  void provide_cells();
  bool put_back(const PrefillLaneController::LaneResult& home);
  void preempt(Session& session);

  const WorkerOptions options_;
  const std::function<MonoTime()> clock_;
  const std::shared_ptr<const std::atomic<std::uint64_t>> reads_ended_;
  SessionTable& sessions_;
  Sequences& sequences_;
  KvMemoryManager& kv_;
  KvMemoryMigrator& migrator_;
  PrefillLaneController& lane_;
  GenerationFinisher& finisher_;
  FaultScope& faults_;
  WorkerStats& counters_;
  std::optional<MonoTime> look_again_;
};

}  // namespace corral::engine
