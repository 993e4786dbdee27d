#include "simulation/engine/simulated_worker.h"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/context_size.h"
#include "engine/test_failing_allocations.h"
#include "engine/values/errors.h"
#include "simulation/engine/pass_rules.h"

namespace corral::engine::simulation {
namespace {

Waits::Rules rules_of(const Setting& setting, std::function<bool(SessionId)> shares_beginning) {
  Waits::Rules rules{.places = setting.worker.max_sequences,
                     .sequences = FakeMemory(setting.memory, {}, nullptr).sequence_ids(),
                     .cells = setting.memory.cells,
                     .lane_tokens = std::nullopt,
                     .shares_beginning = std::move(shares_beginning)};
  if (setting.lane) rules.lane_tokens = setting.worker.lane_tokens;
  return rules;
}

}  // namespace

SimulatedWorker::SimulatedWorker(Common common, std::uint32_t number)
    : fate_(std::move(common.fate)),
      memory_(common.setting.memory),
      clock_(std::move(common.clock)),
      executor_(std::move(common.executor)),
      waits_(rules_of(common.setting, std::move(common.shares_beginning))) {
  memory_.worker = number;
  memory_.alive = std::make_shared<char>();
  memory_.watch = [this](const Batch& batch, DecodeStatus status) {
    PassView pass = core_->pass();
    if (auto rule = broken_rule(pass, batch)) fate_->broken(std::move(*rule));
    if (status == DecodeStatus::no_room) fate_->broken("a pass that doesn't fit");
    waits_.pass(std::move(pass), status, memories_);
  };
  const std::uint64_t seed = common.variety + number;
  const Setting& setting = common.setting;
  auto lane = setting.lane ? std::make_unique<FakeLane>(lane_memory(), box_, fate_, seed) : nullptr;
  lane_ = lane.get();
  WorkerCore::Parts parts{
      .tokens = tokens_,
      .memory = *make({}),
      .make = [this](KvShape shape) { return make(shape); },
      .growth = [max = setting.worker.max_cells](
                    const KvMemory& now, std::uint32_t needed) { return grown_context(now.n_ctx(), needed, max, {}); },
      .box = box_,
      .store = std::move(common.store),
      .costs = make_costs(setting, seed),
      .drafter = setting.worker.draft_tokens > 0 ? std::make_unique<FakeDrafter>(seed) : nullptr,
      .lane = std::move(lane),
      .executor = executor_,
      .explain =
          [this](const Error& error, KvShape) {
            explaining_ = false;
            return Error(error.code, error.message + ", and why");
          },
      .clock = [this] { return looking_ ? now_ : now_ = clock_(); }};
  core_ = std::make_unique<WorkerCore>(std::move(parts), setting.worker);
}

Result<std::unique_ptr<KvMemory>> SimulatedWorker::make(KvShape shape) {
  const test::Watched spared(false);
  // A machine may have room for one only.
  if (memory_.alive.use_count() > 1) fate_->broken("a memory is made beside the one there is");
  if (fate_->refuse_make > 0) {
    --fate_->refuse_make;
    ++fate_->refused;
    ++memories_;
    explaining_ = executor_ != nullptr;
    return fail(errc::out_of_memory, "no memory");
  }
  if (fate_->throw_make) {
    fate_->throw_make = false;
    throw std::runtime_error("a memory that can't be made");
  }
  ++memories_;
  parts_ = shape.streams;
  explaining_ = false;
  return std::make_unique<FakeMemory>(memory_, shape, fate_);
}

LaneMemoryMaker SimulatedWorker::lane_memory() {
  return [this](std::uint32_t tokens, const std::atomic<bool>&) -> Result<std::unique_ptr<KvMemory>> {
    if (tokens % 16 == 0) return fail(errc::out_of_memory, "no memory for the lane");
    FakeMemoryOptions options = memory_;
    options.cells = tokens;
    options.max_running = 1;
    options.watch = nullptr;
    options.alive = nullptr;
    return std::make_unique<FakeMemory>(options, KvShape{}, fate_);
  };
}

void SimulatedWorker::start(SessionId session, Generation generation) {
  generation.ticket = *in_flight_.enter();
  generation.posted = now_;
  waits_.started(session, generation.max_new_tokens);
  box_->post(StartGeneration{session, std::move(generation)});
}

void SimulatedWorker::settle() {
  if (lane_ != nullptr) lane_->round();
  {
    const test::Watched watched(true);
    core_->take_commands(false);
  }
  if (lane_ != nullptr && lane_->started_twice()) fate_->broken("a second job in the lane");
}

Waits::Moment SimulatedWorker::look() {
  looking_ = true;
  Waits::Moment moment{.sessions = core_->sessions(0),
                       .lane_busy = lane_ != nullptr && lane_->busy(),
                       .explaining = explaining_,
                       .memories = memories_,
                       .parts = parts_,
                       .fresh_starts = core_->stats().fresh_starts,
                       .preemptions = core_->stats().preemptions};
  looking_ = false;
  for (const SessionView& view : moment.sessions) {
    if (view.tokens > view.n_ctx)
      fate_->broken(fmt::format("session {} holds {} tokens of {}", view.id.value(), view.tokens, view.n_ctx));
  }
  return moment;
}

bool SimulatedWorker::round() {
  settle();
  waits_.before(look());
  bool computed = false;
  {
    const test::Watched watched(true);
    computed = core_->round();
  }
  if (auto rule = waits_.after(look(), computed)) fate_->broken(std::move(*rule));
  return computed;
}

}  // namespace corral::engine::simulation
