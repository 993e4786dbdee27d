// Who has to go before a load may start: the rules of slots, of the NPU, of reload and of the second attempt. A pure
// question to the state; who asks decides when the victims are told (core_advance.cpp).
#pragma once

#include <vector>

#include "residency/state.h"

namespace corral::residency {

struct Victim {
  Server* server = nullptr;
  StopReason reason = StopReason::none;
};

struct Room {
  // Everybody who must be gone before the load starts, those included that are leaving already. Empty: it may start.
  std::vector<Victim> victims;
  // Pinned models stand in the way; waiting doesn't help. The sentence says who.
  bool pinned_out = false;
  std::string why;
};

// `load` is queued. The victims of its type are the first in this order, least recently used first within each:
// already stopping, idle, finishing for an unload, draining for another load, busy.
Room find_room(State& state, const Server& load);

// True for a server that has to go before the second attempt of another load.
bool drives_out(const State& state, const Server& server);

// True while a server can't be told to stop: requests run on it, or it loads.
inline bool is_busy(const Server& server) {
  return server.leases > 0 || server.state == ServerState::loading || server.state == ServerState::restoring;
}

}  // namespace corral::residency
