// The last frame of each linked node, by the clock of leases; and what the end of a link means for the other process.
// Belongs to the mesh's loop.
#pragma once

#include <map>
#include <optional>

#include "mesh/groups/link_states.h"
#include "mesh/peers/peers.h"

namespace corral::fleet {

// The other process has ended if it announced its stop, or if its connection closed shortly after its last frame: a cut
// network closes nothing, and is noticed by silence. Every other end counts as a cut, since the process may still run.
// `silent`: time since the last frame. Pure.
mesh::LinkEnd end_of(const mesh::Closing& closing, Millis silent);

class GroupLinks {
 public:
  explicit GroupLinks(const mesh::Peers& peers) : peers_(peers) {}

  void up(const mesh::NodeId& node, mesh::BootTime now) { nodes_[node] = {now, peers_.last_heartbeat(node)}; }
  void received(const mesh::NodeId& node, mesh::BootTime now);
  // Returns the time of its last frame.
  mesh::BootTime down(const mesh::NodeId& node, mesh::BootTime now);
  // Checks all linked nodes; call it a few times a second.
  void look(mesh::BootTime now);

 private:
  struct Node {
    mesh::BootTime last_received;
    std::optional<MonoTime> beat;  // the last heartbeat that this loop saw
  };
  const mesh::Peers& peers_;
  std::map<mesh::NodeId, Node> nodes_;  // with a link
};

}  // namespace corral::fleet
