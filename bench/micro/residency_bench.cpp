// A lease taken and given back on a resident model: what the core adds to every request.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "residency/core.h"

namespace corral::residency {
namespace {

struct CoreBench {
  Core core{Settings{.limits = Limits::of_all(-1)}};
  Now now{MonoTime{} + std::chrono::hours(1), WallTime{} + std::chrono::hours(1)};
  ActionList actions;
  std::uint64_t tickets = 0;

  // Loads `count` models; none of them stays busy.
  explicit CoreBench(int count) {
    for (int i = 0; i < count; ++i) {
      ModelSpec spec;
      spec.name = name(i);
      send(Acquire{TicketId(++tickets), std::make_shared<const ModelSpec>(spec)});
      for (const auto& action : ActionList(actions)) {
        if (const auto* load = std::get_if<StartLoad>(&action)) send(LoadSucceeded{load->instance});
      }
      for (const auto& action : ActionList(actions)) {
        if (const auto* granted = std::get_if<Granted>(&action)) send(ReturnLease{granted->lease});
      }
    }
  }
  static ModelName name(int i) { return ModelName(fmt::format("a-model-of-usual-length-{}", i)); }
  void send(const Event& event) {
    actions.clear();
    core.handle(event, now, actions);
  }
};

void acquire_release(benchmark::State& state) {
  CoreBench house(static_cast<int>(state.range(0)));
  const auto wanted = CoreBench::name(static_cast<int>(state.range(0)) / 2);
  for (auto _ : state) {
    const auto lease = house.core.try_acquire(wanted, house.now);
    if (!lease) {
      state.SkipWithError("the model isn't resident");
      break;
    }
    house.actions.clear();
    house.core.release(lease->id, house.now, house.actions);
  }
}
BENCHMARK(acquire_release)->Arg(1)->Arg(16)->Arg(256)->ArgName("models");

// The same while many other requests run on the same model.
void acquire_release_busy(benchmark::State& state) {
  CoreBench house(4);
  const auto wanted = CoreBench::name(1);
  for (int i = 0; i < state.range(0); ++i) static_cast<void>(house.core.try_acquire(wanted, house.now));
  for (auto _ : state) {
    const auto lease = house.core.try_acquire(wanted, house.now);
    house.actions.clear();
    house.core.release(lease->id, house.now, house.actions);
  }
}
BENCHMARK(acquire_release_busy)->Arg(256)->ArgName("leases");

}  // namespace
}  // namespace corral::residency
