#include "mesh/peers/peer_listeners.h"

namespace corral::mesh {

void PeerListeners::notify_reach(const PeerTable& peers) {
  bool changed = false;
  for (const auto& [id, peer] : peers.all()) {
    changed |= peer->link.has_changed();
    if (!peer->link.is_up()) peer->reverse.give_up();
  }
  if (changed) notify([](PeerEvents& events) { events.reach_changed(); });
}

}  // namespace corral::mesh
