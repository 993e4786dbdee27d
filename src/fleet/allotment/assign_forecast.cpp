#include "fleet/allotment/assign_forecast.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/human_bytes.h"

namespace corral::fleet {
namespace {

bool has(const std::vector<mesh::ContentKey>& list, const mesh::ContentKey& model) {
  return std::ranges::find(list, model) != list.end();
}

// Why it has no line with this model.
std::string why_none(const mesh::AllocationNode& node, const mesh::AllocationModel& model) {
  if (!has(node.on_disk, model.content) && !node.takes_copies)
    return fmt::format(
        "{} does not have the file of {}, and accepts no copies of the plan: run `corral mesh pull {}` there, or set "
        "mesh_auto_copy = true there",
        node.name, model.name, model.name);
  if (!may_come_to(node, model))
    return model.may_copy ? fmt::format("the file of {} needs {}, {} has {} of free disk", model.name,
                                        human_bytes(model.bytes), node.name, human_bytes(node.disk_free))
                          : fmt::format("no node that can be reached offers copies of {}", model.name);
  const auto need = need_at(node, model), available = max_headroom(node, model.gpu);
  if (need > available)
    return fmt::format("{} needs {}, {} lends {}: {} short", model.name, human_bytes(need), node.name,
                       human_bytes(available), human_bytes(need - available));
  return fmt::format("{} gets {} as soon as its memory is free", node.name, model.name);
}

}  // namespace

std::string why_assigned_waits(mesh::AllocationInput situation, const mesh::AllocationRules& rules,
                               const mesh::NodeId& node, const mesh::ContentKey& model) {
  const auto at = std::ranges::find(situation.nodes, node, &mesh::AllocationNode::id);
  const auto facts = std::ranges::find(situation.models, model, &mesh::AllocationModel::content);
  if (at == situation.nodes.end() || facts == situation.models.end()) return {};
  if (std::ranges::find(at->holds, model, &mesh::HeldModel::model) != at->holds.end()) return {};
  at->order = mesh::NodeOrder{model};
  // The order withdraws both.
  std::erase(at->declines, model);
  std::erase(at->gives_back, model);
  const auto allocation = allocate(situation, rules);
  const auto line = std::ranges::find_if(
      allocation.assignments, [&](const mesh::Assignment& one) { return one.node == node && one.model == model; });
  if (line != allocation.assignments.end()) {
    const bool at_once = line->fetch == mesh::Fetch::none && !line->waits && line->part != mesh::Part::standby;
    if (at_once) return {};
    // Its line repeats the order.
    const bool only_waits = line->waits && line->fetch == mesh::Fetch::none && line->part != mesh::Part::standby;
    return only_waits ? "it waits for memory that another model has now" : line->why;
  }
  if (needs_several(situation, *facts)) {
    const auto entry = std::ranges::find(allocation.unserved, model, &mesh::Unserved::model);
    if (entry != allocation.unserved.end()) return entry->why;
  }
  return why_none(*at, *facts);
}

}  // namespace corral::fleet
