// Which of the hints that an engine holds are news. Pure.
#pragma once

#include <map>
#include <vector>

#include "mesh/hints/peer_discovery.h"

namespace corral::mesh {

class HintDiff {
 public:
  explicit HintDiff(NodeId own) : own_(own) {}

  // All that the engine holds now; what is in it about this node counts for nothing. Returns what is new or has changed
  // since the last call. Nodes that the engine has forgotten are forgotten.
  std::vector<Hint> take(std::vector<Hint> all);

 private:
  NodeId own_;
  std::map<NodeId, Hint> known_;
};

}  // namespace corral::mesh
