#include "mesh/groups/group_plan.h"

#include <algorithm>

#include "mesh/identity/bytes.h"

namespace corral::mesh {

std::vector<NodeId> GroupPlan::nodes() const {
  std::vector<NodeId> ids;
  for (const auto& share : split.shares) ids.push_back(share.node);
  std::ranges::sort(ids);
  return ids;
}

const SplitShare* GroupPlan::share_of(const NodeId& node) const {
  const auto found = std::ranges::find(split.shares, node, &SplitShare::node);
  return found == split.shares.end() ? nullptr : &*found;
}

Sha256 digest_of(const GroupPlan& plan) {
  std::string body;
  ByteWriter out(body);
  out.raw(plan.model.bytes).number<std::uint8_t>(plan.model.pending).raw(plan.split.host.bytes);
  for (const auto& share : plan.split.shares) {
    out.raw(share.node.bytes).number<std::uint32_t>(share.layers);
    out.number<std::uint64_t>(share.weights).number<std::uint64_t>(share.cache).number<std::uint64_t>(share.compute);
  }
  return tagged_hash("plan of a group", body);
}

}  // namespace corral::mesh
