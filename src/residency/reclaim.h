// Which models are the most disposable, and how few of them give up enough memory. Pure functions.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "residency/memory_ledger.h"
#include "residency/state.h"

namespace corral::residency {

// idle time / (load time * weight): how little is lost when the model goes. 0 while it is in use.
double eviction_score(const Server& server, MonoTime now);

// True for a server on which nothing runs and that isn't on its way out.
inline bool is_idle(const Server& server) { return serves(server.state) && server.leases == 0; }

// True when asking it to downsize makes sense: it is idle, its model opted in and isn't pinned, and it hasn't said no
// since its last use.
bool may_downsize(const State& state, const Server& server);

// When an idle server wants to be looked at next for its timeouts; nothing: never.
std::optional<MonoTime> idle_due(const State& state, const Server& server, MonoTime now);
// True when its timeout for this has passed; it has been left alone for at least `floor`.
bool is_evict_due(const State& state, const Server& server, MonoTime now, Millis floor);
bool is_downsize_due(const State& state, const Server& server, MonoTime now, Millis floor);

// One way to free memory.
struct Reclaim {
  Server* server = nullptr;
  bool downsize = false;  // else it goes
};

// Idle servers for which `wanted` holds, the most disposable first: the higher score, else the less recent use. Those
// whose needs nobody knows come last: they may go in vain.
std::vector<Server*> by_score(const State& state, MonoTime now, const std::function<bool(const Server&)>& wanted);

// What comes back when the server is gone. Nobody knows what one of unknown needs gives: it counts as enough, and the
// next sample tells.
PoolBytes given_by_end_of(const MemoryLedger& books, const Server& server);
// What a relief gives besides those that are under way: a server that is being downsized gives the rest when it goes.
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
