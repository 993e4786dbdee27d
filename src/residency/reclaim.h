// Order of instances by eviction score, and the fewest that free enough memory. Pure functions.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "residency/memory_ledger.h"
#include "residency/state.h"

namespace corral::residency {

// idle time / (load time * weight): the higher, the less an eviction costs. 0 while it is in use.
double eviction_score(const Instance& instance, MonoTime now);

// True for an instance without requests that isn't leaving.
inline bool is_idle(const Instance& instance) { return serves(instance.state) && instance.leases == 0; }

// True if a downsize makes sense: the instance is idle, its model opted in and isn't pinned, and no downsize has failed
// since its last use.
bool may_downsize(const State& state, const Instance& instance);

// When the next timeout of an idle instance ends; empty: never.
std::optional<MonoTime> idle_due(const State& state, const Instance& instance, MonoTime now);
// True if its timeout has passed; it has been idle for at least `floor`.
bool is_evict_due(const State& state, const Instance& instance, MonoTime now, Millis floor);
bool is_downsize_due(const State& state, const Instance& instance, MonoTime now, Millis floor);

// One way to free memory.
struct Reclaim {
  Instance* instance = nullptr;
  bool downsize = false;  // else an eviction
};

// Idle instances for which `wanted` holds, in descending order of eviction score, then least recently used first. Those
// of unknown memory need come last: their eviction may be in vain.
std::vector<Instance*> by_score(const State& state, MonoTime now, const std::function<bool(const Instance&)>& wanted);

// Memory that is free after the instance has stopped. Unknown need counts as enough: the next sample shows the real
// amount.
PoolBytes given_by_end_of(const MemoryLedger& ledger, const Instance& instance);
// Memory that one reclaim frees in addition to those that run: the stop of an instance that is being downsized frees
// only the rest.
PoolBytes given_by(const MemoryLedger& ledger, const Reclaim& reclaim);

struct ReclaimPlan {
  std::vector<Reclaim> reliefs;
  bool enough = false;  // they free all that was missing
  PoolBytes left;       // still missing; negative: freed more than that
};
// The first ones of `choice` that free `short_by`, without superfluous ones. If all together don't suffice: as few as
// free the possible maximum of every pool.
ReclaimPlan cover(const MemoryLedger& ledger, const PoolBytes& short_by, const std::vector<Reclaim>& choice);

}  // namespace corral::residency
