#include "residency/core/memory_watch.h"

#include <algorithm>

namespace corral::residency {

void MemoryWatch::ask(const Step& step) {
  if (state_.memory.asked) return;
  state_.memory.asked = step.time();
  step.act(SampleMemory{});
}

void MemoryWatch::take(const MemorySampled& event, const Step& step) {
  const Instance* loader = state_.loader;
  state_.memory.sample(event.pools, loader == nullptr ? MemoryUse{} : loader->spec->memory, step.time());
}

void MemoryWatch::give_up_overdue(MonoTime now) {
  const std::optional<MonoTime> asked = state_.memory.asked;
  if (asked && now - *asked >= state_.settings.memory_wait) state_.memory.sample({}, {}, now);
}

void MemoryWatch::plan(const Step& step) {
  const bool wanted = std::ranges::any_of(state_.instances, [](const auto& entry) {
    const Instance& instance = *entry.second;
    return instance.eviction.auto_evict && instance.state >= InstanceState::loading &&
           instance.state < InstanceState::evicting;
  });
  if (wanted == state_.watching) return;
  state_.watching = wanted;
  step.act(WatchMemory{wanted});
}

}  // namespace corral::residency
