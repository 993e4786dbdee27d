// One worker of a world: a core with its box, its memory and its lane. Beside what is its own it has what all workers
// of a model share: the parked copies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "engine/worker/worker_core.h"
#include "simulation/engine/fake_memory.h"
#include "simulation/engine/fake_parts.h"
#include "simulation/engine/setting.h"
#include "simulation/engine/waits.h"

namespace corral::engine::simulation {

class SimulatedWorker {
 public:
  // Of the world, for all its workers.
  struct Common {
    const Setting& setting;
    std::uint64_t variety = 0;
    std::shared_ptr<Fate> fate;
    std::shared_ptr<ParkedStore> store;
    std::function<MonoTime()> clock;
    std::function<bool(SessionId)> shares_beginning;  // see Waits::Rules
    std::shared_ptr<FakeChores> executor;             // nullptr: what they would do is done at once
  };
  SimulatedWorker(Common common, std::uint32_t number);

  const std::shared_ptr<CommandBox>& box() const { return box_; }
  InFlight& in_flight() { return in_flight_; }
  WorkerStats stats() const { return core_->stats(); }

  void start(SessionId session, Generation generation);
  // Commands are taken without a pass.
  void settle();
  // False: there was nothing to compute.
  bool round();

 private:
  Result<std::unique_ptr<KvMemory>> make(KvShape shape);
  LaneMemoryMaker lane_memory();
  Waits::Moment look();

  const std::shared_ptr<Fate> fate_;
  FakeMemoryOptions memory_;
  const FakeTokens tokens_;
  const std::shared_ptr<CommandBox> box_ = std::make_shared<CommandBox>();
  InFlight in_flight_;
  FakeLane* lane_ = nullptr;  // the core's
  std::function<MonoTime()> clock_;
  const std::shared_ptr<FakeChores> executor_;
  MonoTime now_{};
  bool looking_ = false;        // which takes no time
  std::uint64_t memories_ = 0;  // made so far, or refused
  std::uint32_t parts_ = 0;     // of the latest; 0: a pool
  bool explaining_ = false;     // one was refused, and nobody has been told why
  Waits waits_;
  std::unique_ptr<WorkerCore> core_;
};

}  // namespace corral::engine::simulation
