#include "fleet/groups/group_links.h"

namespace corral::fleet {
namespace {

// Two heartbeat intervals, and the time between two checks.
constexpr Millis kLately{1250};

}  // namespace

mesh::LinkEnd end_of(const mesh::Closing& closing, Millis silent) {
  if (closing.by_peer && closing.reason == mesh::CloseReason::stopping) return mesh::LinkEnd::ended;
  const bool closed_under_it = !closing.by_peer && closing.reason == mesh::CloseReason::lost;
  return closed_under_it && silent < kLately ? mesh::LinkEnd::ended : mesh::LinkEnd::cut;
}

void GroupLinks::received(const mesh::NodeId& node, mesh::BootTime now) {
  if (const auto found = nodes_.find(node); found != nodes_.end()) found->second.last_received = now;
}

mesh::BootTime GroupLinks::down(const mesh::NodeId& node, mesh::BootTime now) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return now;
  const auto last_received = found->second.last_received;
  nodes_.erase(found);
  return last_received;
}

void GroupLinks::look(mesh::BootTime now) {
  for (auto& [id, node] : nodes_) {
    const auto beat = peers_.last_heartbeat(id);
    if (beat && beat == node.beat) continue;
    node.last_received = now;
    node.beat = beat;
  }
}

}  // namespace corral::fleet
