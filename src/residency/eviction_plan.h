// Who has to go before a load may start: the rules of slots, of the NPU, of reload, of the second attempt and of memory
// (eviction_plan_memory.cpp). A pure question to the state; core/load_scheduler.h decides when the victims are told.
#pragma once

#include <optional>
#include <vector>

#include "residency/state.h"

namespace corral::residency {

struct Victim {
  Instance* instance = nullptr;
  StopReason reason = StopReason::none;
};

struct EvictionPlan {
  // Everybody who must be gone before the load starts, those included that are leaving already.
  std::vector<Victim> victims;
  // Idle instances that must be downsized, those included that are at it.
  std::vector<Instance*> downsizes;
  // Enough memory has been given up, but it hasn't come back yet.
  std::optional<PendingRelease> settles;
  // All this is by old news: the memory has to be looked at again before anybody is told or the load starts.
  bool stale = false;
  // Waiting doesn't help: pinned models stand in the way, or there is too little memory.
  std::optional<Error> refused;

  // The load may start.
  bool is_there() const { return victims.empty() && downsizes.empty() && !settles; }
  bool held_by_memory() const;
};

// `load` is queued, and not lent: it looks at lent models only where the NPU or memory is concerned. The victims of its
// type are the first in this order, least recently used first within each:
// already stopping, idle, finishing for an unload, draining for another load, busy.
EvictionPlan plan_eviction(State& state, const Instance& load, MonoTime now);

// The part of plan_eviction about memory: adds to a room that is found otherwise. Those who go are the fewest that
// suffice, taken in this order: already stopping, idle ones by eviction score, finishing for an unload, draining, busy.
// Where downsizing idle instances suffices nobody goes.
void fit_memory(State& state, const Instance& load, MonoTime now, EvictionPlan& room);

// True for an instance that has to go before the second attempt of another load.
bool drives_out(const State& state, const Instance& instance);

// True while an instance can't be told to stop: requests run on it, or it loads. One that was told all the same, as its
// owner has recalled it, only has to end.
inline bool is_busy(const Instance& instance) {
  return (instance.leases > 0 && instance.state != InstanceState::evicting) || instance.state == InstanceState::loading;
}

}  // namespace corral::residency
