#include "mesh/hints/hint_diff.h"

namespace corral::mesh {

std::vector<Hint> HintDiff::take(std::vector<Hint> all) {
  std::vector<Hint> changes;
  std::map<NodeId, Hint> now;
  for (auto& hint : all) {
    if (hint.node == own_ || !now.emplace(hint.node, hint).second) continue;
    const auto before = known_.find(hint.node);
    if (before == known_.end() || before->second != hint) changes.push_back(std::move(hint));
  }
  known_ = std::move(now);
  return changes;
}

}  // namespace corral::mesh
