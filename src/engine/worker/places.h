// Who gets a place in the passes and cells for it, and whose place goes when cells run out. One thread.
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
#include "engine/values/stats.h"
#include "engine/worker/endings.h"
#include "engine/worker/in_hand.h"
#include "engine/worker/lane_desk.h"
#include "engine/worker/memory_keeper.h"
#include "engine/worker/memory_mover.h"
#include "engine/worker/pass.h"
#include "engine/worker/roster.h"
#include "engine/worker/sequences.h"

namespace corral::engine {

class Places {
 public:
  // `reads_ended`: files of parked KV that have been read, or couldn't be. Until there are more, who waits for one
  // isn't looked up.
  struct Parts {
    std::function<MonoTime()> clock;
    std::shared_ptr<const std::atomic<std::uint64_t>> reads_ended;
    Roster& roster;
    Sequences& sequences;
    MemoryKeeper& keeper;
    MemoryMover& mover;
    LaneDesk& lane;
    Endings& endings;
    InHand& hand;
    WorkerStats& counters;
  };
  Places(Parts parts, const WorkerOptions& options);

  // Those whose readers have read wait for their turn again.
  void resume_paused();
  void admit();
  // When to look again though nothing has happened: for those that wait for a file, or for an explanation.
  std::optional<MonoTime> look_again() const { return look_again_; }
  // Who comes from the lane has a place, if it can stay; else it waits.
  void take_home(LaneDesk::Home home);

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
  bool put_back(const LaneDesk::Home& home);
  void preempt(Session& session);

  const WorkerOptions options_;
  const std::function<MonoTime()> clock_;
  const std::shared_ptr<const std::atomic<std::uint64_t>> reads_ended_;
  Roster& roster_;
  Sequences& sequences_;
  MemoryKeeper& keeper_;
  MemoryMover& mover_;
  LaneDesk& lane_;
  Endings& endings_;
  InHand& hand_;
  WorkerStats& counters_;
  std::optional<MonoTime> look_again_;
};

}  // namespace corral::engine
