#include "mesh/groups/link_states.h"

namespace corral::mesh {

bool LinkStates::up(const NodeId& node, std::uint64_t epoch) {
  auto& peer = peers_[node];
  const bool another = peer.epoch != 0 && peer.epoch != epoch;
  peer.up = true;
  peer.epoch = epoch;
  return another;
}

void LinkStates::down(const NodeId& node, LinkEnd how, BootTime last_received) {
  auto& peer = peers_[node];
  peer.up = false;
  peer.how = how;
  peer.last_received = last_received;
}

bool LinkStates::is_up(const NodeId& node) const {
  const auto found = peers_.find(node);
  return node == own_ || (found != peers_.end() && found->second.up);
}

bool LinkStates::is_lost(const NodeId& node, Millis patience, BootTime now) const {
  if (is_up(node)) return false;
  const auto found = peers_.find(node);
  return found == peers_.end() || found->second.how == LinkEnd::ended || now - found->second.last_received >= patience;
}

std::vector<NodeId> LinkStates::lost(Millis patience, BootTime now) const {
  std::vector<NodeId> lost;
  for (const auto& [node, peer] : peers_)
    if (is_lost(node, patience, now)) lost.push_back(node);
  return lost;
}

}  // namespace corral::mesh
