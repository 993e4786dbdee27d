#include "residency/core/memory_watch.h"

#include <algorithm>

namespace corral::residency {

void MemoryWatch::ask(const Step& step) {
  if (state_.memory.asked) return;
  state_.memory.asked = step.time();
  step.act(SampleMemory{});
}

void MemoryWatch::take(const MemorySampled& event, const Step& step) {
  const Server* loader = state_.loader;
  state_.memory.sample(event.pools, loader == nullptr ? MemoryUse{} : loader->spec->memory, step.time());
}

void MemoryWatch::give_up_overdue(MonoTime now) {
  const std::optional<MonoTime> asked = state_.memory.asked;
  if (asked && now - *asked >= state_.settings.memory_wait) state_.memory.sample({}, {}, now);
}

void MemoryWatch::plan(const Step& step) {
  const bool wanted = std::ranges::any_of(state_.servers, [](const auto& entry) {
    const Server& server = *entry.second;
    return server.eviction.auto_evict && server.state >= ServerState::loading && server.state < ServerState::evicting;
  });
  if (wanted == state_.watching) return;
  state_.watching = wanted;
  step.act(WatchMemory{wanted});
}

}  // namespace corral::residency
