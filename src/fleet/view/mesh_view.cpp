#include "fleet/view/mesh_view.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fleet/base/errors.h"

namespace corral::fleet {
namespace {

constexpr std::size_t kFewestDigits = 6;

}  // namespace

std::string_view name_of(MeshPhase phase) {
  switch (phase) {
    case MeshPhase::none:
      return "none";
    case MeshPhase::joining:
      return "joining";
    case MeshPhase::member:
      return "member";
    case MeshPhase::revoked:
      return "revoked";
    case MeshPhase::broken:
      return "broken";
  }
  return "";
}

const NodeView* MeshView::find(const mesh::NodeId& id) const {
  const auto found = std::ranges::find(nodes, id, &NodeView::id);
  return found == nodes.end() ? nullptr : &*found;
}

std::string MeshView::name_of(const mesh::NodeId& id) const {
  const auto* node = find(id);
  return node != nullptr ? node->name : mesh::short_text(id);
}

Result<const NodeView*> find_node(const MeshView& view, std::string_view text) {
  std::vector<const NodeView*> found;
  for (const auto& node : view.nodes)
    if (node.name == text || node.own_name == text) found.push_back(&node);
  if (found.empty() && text.size() >= kFewestDigits) {
    for (const auto& node : view.nodes)
      if (mesh::to_text(node.id).starts_with(text)) found.push_back(&node);
  }
  if (found.size() == 1) return found.front();
  std::vector<std::string> names;
  for (const auto* node : found) names.push_back(node->name);
  if (!names.empty()) {
    return fail(errc::node_ambiguous,
                fmt::format("'{}' matches several nodes: use one of these names: {}", text, fmt::join(names, ", ")),
                "node");
  }
  for (const auto& node : view.nodes) names.push_back(node.name);
  return fail(errc::node_not_found,
              fmt::format("no node of the mesh has the name '{}'; nodes: {}", text, fmt::join(names, ", ")), "node");
}

}  // namespace corral::fleet
