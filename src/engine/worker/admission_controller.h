// Admits sessions to the batch, and preempts them when KV cells run out. One thread.
//
// Waiting sessions are visited by turn (turn_order.h). An admitted session has cells for its history and some tokens of
// its answer, and so have all active sessions: no session is preempted right after its admission. The oldest generation
// always advances, so every generation ends.
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
#include "engine/worker/media_inputs.h"
#include "engine/worker/prefill_lane_controller.h"

namespace corral::engine {

class AdmissionController {
 public:
  // `reads_ended`: number of finished reads of parked KV. A session that waits for a read is skipped until it rises.
  struct Parts {
    std::function<MonoTime()> clock;
    std::shared_ptr<const std::atomic<std::uint64_t>> reads_ended;
    SessionTable& sessions;
    Sequences& sequences;
    KvMemoryManager& kv;
    KvMemoryMigrator& migrator;
    PrefillLaneController& lane;
    GenerationFinisher& finisher;
    MediaInputs& media;
    FaultScope& faults;
    WorkerStats& counters;
  };
  AdmissionController(Parts parts, const WorkerOptions& options);

  // Paused sessions whose streams have been read wait for admission again.
  void resume_paused();
  void admit();
  // Deadline for the next call without an event: for sessions that wait for a file or for the cause of a failed
  // allocation.
  std::optional<MonoTime> look_again() const { return look_again_; }
  // A session that returns from the lane is active if cells suffice; otherwise it waits.
  void take_home(PrefillLaneController::LaneResult home);

  // Frees cells for all tokens of the pass, at the cost of sessions that don't run. False: there are not so many.
  bool find_cells(const Pass& pass);
  // The pass has no cells: changes the layout, grows the memory, preempts a session or ends one.
  void make_room();

 private:
  CellClaims claims() const;
  Sequences::Attach attach(Session& session);
  bool admit_fitting();
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
  MediaInputs& media_;
  FaultScope& faults_;
  WorkerStats& counters_;
  std::optional<MonoTime> look_again_;
};

}  // namespace corral::engine
