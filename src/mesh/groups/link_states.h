// Which nodes a group can rely on just now, by links alone. Pure; belongs to one loop.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "mesh/groups/boot_time.h"
#include "mesh/identity/keys.h"

namespace corral::mesh {

enum class LinkEnd : std::uint8_t {
  cut,    // nothing was heard any more, or it was replaced: its process may well go on
  ended,  // its process did
};

class LinkStates {
 public:
  explicit LinkStates(const NodeId& own) : own_(own) {}

  // `life`: the peer's boot epoch. True: it isn't the process any more that was there before.
  bool up(const NodeId& node, std::uint64_t life);
  // `heard`: when something was heard last.
  void down(const NodeId& node, LinkEnd how, BootTime heard);

  bool is_up(const NodeId& node) const;
  // Gone for good, as far as plans go: its process ended, or nothing was heard of it for `patience`.
  bool is_lost(const NodeId& node, Millis patience, BootTime now) const;
  // Nodes that had a link once and are lost, sorted.
  std::vector<NodeId> lost(Millis patience, BootTime now) const;

 private:
  struct Peer {
    std::uint64_t life = 0;
    bool up = false;
    LinkEnd how = LinkEnd::cut;
    BootTime heard{};
  };
  NodeId own_;
  std::map<NodeId, Peer> peers_;
};

}  // namespace corral::mesh
