#include "simulation/engine/simulated_worker.h"

#include <utility>

#include "engine/errors.h"
#include "simulation/engine/pass_rules.h"

namespace corral::engine::simulation {

SimulatedWorker::SimulatedWorker(Common common, std::uint32_t number)
    : fate_(std::move(common.fate)), memory_(common.setting.memory) {
  memory_.worker = number;
  memory_.watch = [this](const Batch& batch, DecodeStatus) {
    if (auto rule = broken_rule(core_->pass(), batch)) fate_->broken(std::move(*rule));
  };
  const std::uint64_t seed = common.variety + number;
  const Setting& setting = common.setting;
  auto lane = setting.lane ? std::make_unique<FakeLane>(lane_memory(), box_, seed) : nullptr;
  lane_ = lane.get();
  WorkerCore::Parts parts{.tokens = tokens_,
                          .memory = *make({}),
                          .make = [this](KvShape shape) { return make(shape); },
                          .box = box_,
                          .store = std::move(common.store),
                          .drafter = setting.worker.draft_tokens > 0 ? std::make_unique<FakeDrafter>(seed) : nullptr,
                          .lane = std::move(lane),
                          .clock = std::move(common.clock)};
  core_ = std::make_unique<WorkerCore>(std::move(parts), setting.worker);
}

Result<std::unique_ptr<KvMemory>> SimulatedWorker::make(KvShape shape) {
  if (fate_->refuse_make > 0) {
    --fate_->refuse_make;
    return fail(errc::out_of_memory, "no memory");
  }
  return std::make_unique<FakeMemory>(memory_, shape, fate_);
}

LaneMemoryMaker SimulatedWorker::lane_memory() {
  return [this](std::uint32_t tokens, const std::atomic<bool>&) -> Result<std::unique_ptr<KvMemory>> {
    if (tokens % 16 == 0) return fail(errc::out_of_memory, "no memory for the lane");
    FakeMemoryOptions options = memory_;
    options.cells = tokens;
    options.most_running = 1;
    options.watch = nullptr;
    return std::make_unique<FakeMemory>(options, KvShape{}, fate_);
  };
}

void SimulatedWorker::settle() {
  if (lane_ != nullptr) lane_->round();
  core_->take_commands(false);
  if (lane_ != nullptr && lane_->started_twice()) fate_->broken("a second job in the lane");
}

bool SimulatedWorker::round() {
  settle();
  return core_->round();
}

}  // namespace corral::engine::simulation
