// Filters the hints of a discovery agent for news. Pure.
#pragma once

#include <map>
#include <vector>

#include "mesh/hints/peer_discovery.h"

namespace corral::mesh {

class HintDiff {
 public:
  explicit HintDiff(NodeId own) : own_(own) {}

  // `all`: all hints that the agent has now; hints about this node are ignored. Returns hints that are new or changed
  // since the last call. Nodes that the agent has forgotten are forgotten.
  std::vector<Hint> take(std::vector<Hint> all);

 private:
  NodeId own_;
  std::map<NodeId, Hint> known_;
};

}  // namespace corral::mesh
