#include "fleet/allotment/allot_split.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "fleet/base/errors.h"
#include "mesh/catalog/hashed_since.h"
#include "models/errors.h"

namespace corral::fleet {
namespace {

using mesh::AllocationModel;
using mesh::AllocationNode;

const mesh::MemoryHeadroom& room_of(const AllocationNode& node, bool gpu) { return gpu ? node.gpu : node.cpu; }

bool has_file(const AllocationNode& node, const AllocationModel& model) {
  return std::ranges::find(node.on_disk, model.content) != node.on_disk.end();
}

// The memory that the node may lend after evicting idle models, including what it has of this model and for the mesh.
std::uint64_t memory_of(const AllocationNode& node, const AllocationModel& model) {
  if (node.role == mesh::Role::client) return 0;
  const auto& room = room_of(node, model.gpu);
  if (node.role == mesh::Role::worker) return room.total;
  auto there = room.idle;
  for (const auto& held : node.holds) {
    if (held.use != mesh::HeldModel::Use::hosted || held.model == model.content) there += held.bytes;
  }
  return std::min(room.total, there);
}

mesh::SplitNode split_node(const AllocationNode& node, const AllocationModel& model, std::uint64_t memory) {
  return split_node_of(node, model, memory, has_file(node, model));
}

const AllocationNode* find_node(const mesh::AllocationInput& situation, const mesh::NodeId& id) {
  const auto at = std::ranges::find(situation.nodes, id, &AllocationNode::id);
  return at == situation.nodes.end() ? nullptr : &*at;
}

bool is_same(const mesh::MemoryHeadroom& a, const mesh::MemoryHeadroom& b) {
  return std::tie(a.now, a.idle, a.total) == std::tie(b.now, b.idle, b.total);
}

std::unexpected<Error> bad_split(std::string text) { return fail(errc::bad_split, std::move(text), "split"); }

// An order may have been withdrawn just now: this is worth another try, unlike a bad split.
std::unexpected<Error> taken(std::string text) { return fail(errc::nowhere, std::move(text), "split"); }

// An order that keeps the node from a share of this model, however long it waits.
Result<> check_orders(const AllocationNode& node, const AllocationModel& model,
                      const mesh::AllocationInput& situation) {
  if (node.order && node.order->model != model.content)
    return taken(fmt::format("'{}' is assigned to {}: free it first with `corral mesh assign {} auto`", node.name,
                             node.order->model ? "another model" : "no model", node.name));
  const auto is_there = [&](const mesh::NodeId& id) { return find_node(situation, id) != nullptr; };
  for (const auto& other : situation.models) {
    const auto& over = other.split_over;
    const bool names = other.content != model.content && std::ranges::find(over, node.id) != over.end();
    if (names && std::ranges::all_of(over, is_there))
      return taken(fmt::format("'{}' holds '{}' by another order: end that first with `corral mesh unload {}`",
                               node.name, other.name, other.name));
  }
  return {};
}

// The first reason why one of these nodes can't have a share.
Result<> check(const std::vector<const AllocationNode*>& nodes, const AllocationModel& model,
               const mesh::AllocationInput& situation) {
  const bool any_has_file = std::ranges::any_of(nodes, [&](const auto* node) { return has_file(*node, model); });
  if (!any_has_file)
    return bad_split(
        fmt::format("none of these nodes has '{}' on its disk, and the host needs it: run `corral mesh pull {}` on one "
                    "of them first",
                    model.name, model.name));
  std::size_t without = 0;
  for (const auto* node : nodes) {
    if (node->role == mesh::Role::client)
      return bad_split(fmt::format("'{}' lends nothing (its mesh_role is client)", node->name));
    if (node->just_gone) return bad_split(fmt::format("'{}' can't be reached", node->name));
    if (node->engine != nodes.front()->engine)
      return bad_split(fmt::format("'{}' has llama.cpp {}, '{}' has {}: a split needs the same version on all nodes",
                                   nodes.front()->name, nodes.front()->engine, node->name, node->engine));
    if (auto free = check_orders(*node, model, situation); !free) return free;
    without += node->works ? 0 : 1;
  }
  for (const auto* node : nodes) {
    // One of them may be the host, which needs no worker.
    if (!node->works && (without > 1 || !has_file(*node, model)))
      return fail(errc::nowhere,
                  fmt::format("no worker can run at '{}': run `corral mesh doctor` there for the cause", node->name),
                  "split");
  }
  return {};
}

}  // namespace

bool have_same_room(const mesh::AllocationInput& before, const mesh::AllocationInput& now) {
  return std::ranges::equal(before.nodes, now.nodes, [](const auto& a, const auto& b) {
    return a.id == b.id && is_same(a.gpu, b.gpu) && is_same(a.cpu, b.cpu);
  });
}

bool still_does(const mesh::SplitPlan& plan, const mesh::SplitPlan& planned, const mesh::AllocationInput& situation) {
  std::set<mesh::NodeId> these, those;
  for (const auto& share : plan.shares) these.insert(share.node);
  for (const auto& share : planned.shares) those.insert(share.node);
  if (plan.host != planned.host || these != those) return false;
  return std::ranges::all_of(plan.shares, [&](const mesh::SplitShare& share) {
    const auto* node = find_node(situation, share.node);
    return node != nullptr && share.total() <= std::max(node->gpu.total, node->cpu.total);
  });
}

std::optional<mesh::NodeId> host_over(const mesh::Catalog& catalog, const mesh::ContentKey& model,
                                      std::vector<mesh::NodeId> nodes) {
  std::ranges::sort(nodes);
  mesh::HashedSince hashed(catalog);
  const auto holds = [&](const mesh::GroupReport& group) {
    std::vector<mesh::NodeId> over;
    for (const auto& share : group.shares) over.push_back(share.node);
    std::ranges::sort(over);
    return group.stage != mesh::GroupStage::waiting && hashed(group.model) == model && over == nodes;
  };
  const auto is_ordered = [&](const mesh::SplitOrder& order) {
    return hashed(order.model) == model && order.nodes == nodes;
  };
  std::optional<mesh::NodeId> result;
  for (const auto& node : catalog.nodes()) {
    if (!node.node_state || !mesh::is_routable(node.reach)) continue;
    if (std::ranges::any_of(node.node_state->groups, holds)) return node.id;
    if (!result && std::ranges::any_of(node.node_state->split_orders, is_ordered)) result = node.id;
  }
  return result;
}

Result<mesh::SplitPlan> plan_by_hand(const mesh::AllocationInput& situation, const mesh::ContentKey& content,
                                     const std::vector<mesh::NodeId>& ids, const std::optional<mesh::NodeId>& host) {
  const auto model = std::ranges::find(situation.models, content, &AllocationModel::content);
  if (model == situation.models.end())
    return fail(models::errc::model_not_found, "no reachable node has the model", "model");
  if (ids.size() < 2) return bad_split("name two nodes at least");
  if (ids.size() > mesh::kNodeStateLimits.shares_of_group)
    return bad_split(fmt::format("too many nodes (max {})", mesh::kNodeStateLimits.shares_of_group));
  std::vector<const AllocationNode*> nodes;
  for (const auto& id : ids) {
    const auto* node = find_node(situation, id);
    if (node == nullptr) {
      const auto away = situation.away.find(id);
      return bad_split(
          fmt::format("'{}' can't be reached", away == situation.away.end() ? short_text(id) : away->second));
    }
    if (std::ranges::find(nodes, node) != nodes.end()) return bad_split(fmt::format("'{}' is named twice", node->name));
    nodes.push_back(node);
  }
  if (auto sound = check(nodes, *model, situation); !sound) return std::unexpected(sound.error());
  mesh::SplitQuery query{
      .model = split_model_of(*model), .nodes = {}, .links = &situation.links, .ordered = true, .host = host};
  for (const auto* node : nodes) query.nodes.push_back(split_node(*node, *model, memory_of(*node, *model)));
  auto answer = plan_split(query);
  if (answer.plan) return std::move(*answer.plan);
  return fail(errc::nowhere, fmt::format("these nodes can't hold '{}': {}", model->name, answer.shortage->text),
              "split");
}

PlanPrediction predict_plan(const mesh::AllocationInput& situation, const AllocationModel& model, double max_wait) {
  PlanPrediction result;
  result.need = model.need;
  mesh::SplitQuery query{
      .model = split_model_of(model), .nodes = {}, .links = &situation.links, .ordered = false, .max_wait = max_wait};
  const AllocationNode* best = nullptr;
  // First nodes that can hold it alone, then by memory, then by id.
  const auto rank = [&](const AllocationNode& node) {
    const auto memory = mesh::max_headroom(node, model.gpu);
    const bool alone = memory > 0 && need_at(node, model) <= memory && may_come_to(node, model);
    return std::tuple(alone, memory, node.id);
  };
  for (const auto& node : situation.nodes) {
    if (node.role == mesh::Role::client) continue;
    if (best == nullptr || rank(node) > rank(*best)) best = &node;
    query.nodes.push_back(split_node(node, model, mesh::max_headroom(node, model.gpu)));
  }
  if (best != nullptr) {
    result.need = need_at(*best, model);
    result.have = mesh::max_headroom(*best, model.gpu);
    if (std::get<0>(rank(*best))) result.alone = best->id;
  }
  if (!result.alone) result.split = plan_split(query);
  return result;
}

}  // namespace corral::fleet
