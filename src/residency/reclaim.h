// Which models are the most disposable, and how few of them give up enough memory. Pure functions.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "residency/memory_ledger.h"
#include "residency/state.h"

namespace corral::residency {

// idle time / (load time * weight): how little is lost when the model goes. 0 while it is in use.
double eviction_score(const Instance& instance, MonoTime now);

// True for an instance on which nothing runs and that isn't on its way out.
inline bool is_idle(const Instance& instance) { return serves(instance.state) && instance.leases == 0; }

// True when asking it to downsize makes sense: it is idle, its model opted in and isn't pinned, and it hasn't said no
// since its last use.
bool may_downsize(const State& state, const Instance& instance);

// When an idle instance wants to be looked at next for its timeouts; nothing: never.
std::optional<MonoTime> idle_due(const State& state, const Instance& instance, MonoTime now);
// True when its timeout for this has passed; it has been left alone for at least `floor`.
bool is_evict_due(const State& state, const Instance& instance, MonoTime now, Millis floor);
bool is_downsize_due(const State& state, const Instance& instance, MonoTime now, Millis floor);

// One way to free memory.
struct Reclaim {
  Instance* instance = nullptr;
  bool downsize = false;  // else it goes
};

// Idle instances for which `wanted` holds, the most disposable first: the higher score, else the less recent use. Those
// whose needs nobody knows come last: they may go in vain.
std::vector<Instance*> by_score(const State& state, MonoTime now, const std::function<bool(const Instance&)>& wanted);

// What comes back when the instance is gone. Nobody knows what one of unknown needs gives: it counts as enough, and the
// next sample tells.
PoolBytes given_by_end_of(const MemoryLedger& books, const Instance& instance);
// What a relief gives besides those that are under way: an instance that is being downsized gives the rest when it
// goes.
PoolBytes given_by(const MemoryLedger& books, const Reclaim& relief);

struct ReclaimPlan {
  std::vector<Reclaim> reliefs;
  bool enough = false;  // they give all that was short
  PoolBytes left;       // still short, or negative: more than that
};
// As many of `choice` as it takes to give `short_by`, in their order, without those that turn out superfluous. Where
// all together don't suffice, as few as give all that can be had of every memory.
ReclaimPlan cover(const MemoryLedger& books, const PoolBytes& short_by, const std::vector<Reclaim>& choice);

}  // namespace corral::residency
