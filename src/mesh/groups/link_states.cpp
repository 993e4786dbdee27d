#include "mesh/groups/link_states.h"

namespace corral::mesh {

bool LinkStates::up(const NodeId& node, std::uint64_t life) {
  auto& peer = peers_[node];
  const bool another = peer.life != 0 && peer.life != life;
  peer.up = true;
  peer.life = life;
  return another;
}

void LinkStates::down(const NodeId& node, LinkEnd how, BootTime heard) {
  auto& peer = peers_[node];
  peer.up = false;
  peer.how = how;
  peer.heard = heard;
}

bool LinkStates::is_up(const NodeId& node) const {
  const auto found = peers_.find(node);
  return node == own_ || (found != peers_.end() && found->second.up);
}

bool LinkStates::is_lost(const NodeId& node, Millis patience, BootTime now) const {
  if (is_up(node)) return false;
  const auto found = peers_.find(node);
  return found == peers_.end() || found->second.how == LinkEnd::ended || now - found->second.heard >= patience;
}

std::vector<NodeId> LinkStates::lost(Millis patience, BootTime now) const {
  std::vector<NodeId> lost;
  for (const auto& [node, peer] : peers_)
    if (is_lost(node, patience, now)) lost.push_back(node);
  return lost;
}

}  // namespace corral::mesh
