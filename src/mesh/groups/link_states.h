// Which nodes a group can use now, by links alone. Pure; belongs to one loop.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "mesh/groups/boot_time.h"
#include "mesh/identity/keys.h"

namespace corral::mesh {

enum class LinkEnd : std::uint8_t {
  cut,    // nothing more was received, or the link was replaced: the peer's process may still run
  ended,  // the peer's process ended
};

class LinkStates {
 public:
  explicit LinkStates(const NodeId& own) : own_(own) {}

  // `epoch`: the peer's epoch. True: it is another process than before.
  bool up(const NodeId& node, std::uint64_t epoch);
  // `last_received`: when something was received last.
  void down(const NodeId& node, LinkEnd how, BootTime last_received);

  bool is_up(const NodeId& node) const;
  // Lost to all plans: its process ended, or nothing was received from it for `patience`.
  bool is_lost(const NodeId& node, Millis patience, BootTime now) const;
  // Nodes that had a link once and are lost, sorted.
  std::vector<NodeId> lost(Millis patience, BootTime now) const;

 private:
  struct Peer {
    std::uint64_t epoch = 0;
    bool up = false;
    LinkEnd how = LinkEnd::cut;
    BootTime last_received{};
  };
  NodeId own_;
  std::map<NodeId, Peer> peers_;
};

}  // namespace corral::mesh
