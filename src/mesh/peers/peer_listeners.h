// The listeners for changes of peers. Listeners may be added and removed during a notification. On the mesh's loop.
#pragma once

#include <algorithm>
#include <vector>

#include "mesh/peers/peers.h"
#include "mesh/peers/table/peer_table.h"

namespace corral::mesh {

class PeerListeners {
 public:
  void add(PeerEvents& events) { listeners_.push_back(&events); }
  void remove(PeerEvents& events) { std::erase(listeners_, &events); }
  void clear() { listeners_.clear(); }

  template <typename Call>
  void notify(const Call& call) {
    const auto all = listeners_;
    for (auto* one : all) {
      if (std::ranges::find(listeners_, one) != listeners_.end()) call(*one);
    }
  }
  // After a link came up or ended: notifies listeners if other peers are up than before, and cancels requested streams
  // of peers without a link.
  void notify_reach(const PeerTable& peers);

 private:
  std::vector<PeerEvents*> listeners_;
};

}  // namespace corral::mesh
