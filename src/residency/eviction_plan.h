// Which instances must stop before a load may start: the rules of slots, NPU, reload, second attempt and memory
// (eviction_plan_memory.cpp). Only computes; core/load_scheduler.h decides when the victims stop.
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
  // All instances that must be gone before the load starts, also those that already leave.
  std::vector<Victim> victims;
  // Idle instances that must be downsized, also those whose downsize runs.
  std::vector<Instance*> downsizes;
  // Enough memory has been released, but it isn't free yet.
  std::optional<PendingRelease> settles;
  // The plan uses an old memory sample: before a victim stops or the load starts, a new one is needed.
  bool stale = false;
  // For reports: an old sample refuses, too, and so does a plan beside a load.
  bool imagined = false;
  // Waiting doesn't help: pinned models hold what the load needs, or there is too little memory.
  std::optional<Error> refused;

  // The load may start.
  bool is_there() const { return victims.empty() && downsizes.empty() && !settles; }
  bool held_by_memory() const;
};

// `load` is queued and not lent: lent models matter only for the NPU and memory. Order of the victims of its type,
// least recently used first within each group: already stopping, idle, finishing for an unload, draining for another
// load, busy.
EvictionPlan plan_eviction(State& state, const Instance& load, MonoTime now);

// The memory part of plan_eviction: adds to `plan`. Takes as few victims as possible, in this order: already
// stopping, idle by eviction score, finishing for an unload, draining, busy. Lent instances with only peer requests
// come first; then there is no local victim if downsizing idle instances suffices.
void fit_memory(State& state, const Instance& load, MonoTime now, EvictionPlan& plan);

// True if everything that waits for the load asked that it evicts nothing (ModelSpec::evicts_nothing).
bool evicts_nothing(const Instance& load);

// True for an instance that must stop before the second attempt of another load.
bool drives_out(const State& state, const Instance& instance);

// True while an instance can't be stopped: requests run on it, or it loads. False for one that is being stopped despite
// requests (after a recall).
inline bool is_busy(const Instance& instance) {
  return (instance.leases > 0 && instance.state != InstanceState::evicting) || instance.state == InstanceState::loading;
}

}  // namespace corral::residency
