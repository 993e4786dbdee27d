// When each linked node was heard last, by the clock of leases; and what the end of a link says about the other
// process. Belongs to the mesh's loop.
#pragma once

#include <map>
#include <optional>

#include "mesh/groups/link_states.h"
#include "mesh/peers/peers.h"

namespace corral::fleet {

// A process that says that it stops has ended; so has one whose connection closed under it while it was heard of just
// now: a cut network closes nothing, and is noticed by silence. Everything else is a cut, as it may well live on.
// `silent`: since it was heard last. Pure.
mesh::LinkEnd end_of(const mesh::Closing& closing, Millis silent);

class GroupLinks {
 public:
  explicit GroupLinks(const mesh::Peers& peers) : peers_(peers) {}

  void up(const mesh::NodeId& node, mesh::BootTime now) { nodes_[node] = {now, peers_.last_heartbeat(node)}; }
  void heard(const mesh::NodeId& node, mesh::BootTime now);
  // When it was heard last.
  mesh::BootTime down(const mesh::NodeId& node, mesh::BootTime now);
  // At all that are up; a few times a second.
  void look(mesh::BootTime now);

 private:
  struct Node {
    mesh::BootTime heard;
    std::optional<MonoTime> beat;  // the last heartbeat that was seen here
  };
  const mesh::Peers& peers_;
  std::map<mesh::NodeId, Node> nodes_;  // that are up
};

}  // namespace corral::fleet
