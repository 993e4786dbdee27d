// Predicates of the steps of an allocation.
#include <algorithm>

#include "mesh/allocation/allocator.h"

namespace corral::mesh {
namespace {

// As headroom_for(): memory of this kind of device, or of the other if the node has none of that kind.
const MemoryHeadroom& room_of(const AllocationNode& node, bool gpu) { return gpu ? node.gpu : node.cpu; }

}  // namespace

// After it has unloaded its model of the mesh.
std::uint64_t Allocator::capacity(const Node& node, const Model& model) const {
  if (node.facts->role == Role::client) return 0;
  const auto& room = room_of(*node.facts, model.facts->gpu);
  if (node.facts->role == Role::worker) return room.total;
  return std::min(room.total, room.idle + (node.held ? node.held->bytes : 0));
}

// A model with an unknown need fits only the node with most memory.
bool Allocator::fits(const Node& node, const Model& model) const {
  const auto there = capacity(node, model);
  if (model.facts->need == 0) return there > 0 && there >= roomiest_;
  return need_at(*node.facts, *model.facts) <= there;
}

// How a node gets the file; nothing: it can't.
std::optional<Fetch> Allocator::way_to(const Node& node, const Model& model) const {
  if (node.has_file(model.facts->content)) return Fetch::none;
  // One copy at a time: the node that makes it gets the model.
  const auto& copying = model.facts->copying;
  const bool elsewhere = !copying.empty() && std::ranges::find(copying, node.facts->id) == copying.end();
  if (elsewhere && node.only != model.facts->content) return std::nullopt;
  if (!node.facts->takes_copies || node.facts->disk_free < model.facts->bytes) return std::nullopt;
  if (model.facts->may_copy) return Fetch::copy;
  if (model.facts->may_download) return Fetch::download;
  return std::nullopt;
}

bool Allocator::has(const Node& node, const Model& model) {
  const auto& holds = node.facts->holds;
  return std::ranges::find(holds, model.facts->content, &HeldModel::model) != holds.end();
}

bool Allocator::may_have(const Node& node, const Model& model) const {
  if (std::ranges::find(node.facts->declines, model.facts->content) != node.facts->declines.end()) return false;
  if (node.only) return *node.only == model.facts->content;
  if (is_named_for(node, model)) return true;
  return node.facts->role == Role::worker || model.facts->wanted || model.facts->per_hour > 0;
}

// An ordered split lists this node.
bool Allocator::is_named_for(const Node& node, const Model& model) const {
  if (!model.named) return false;
  return std::ranges::find(model.facts->split_over, node.facts->id) != model.facts->split_over.end();
}

bool Allocator::is_hot(const Model& model, std::size_t servers) const {
  return servers > 0 && model.facts->per_hour >= rules_.hot_per_hour * static_cast<double>(servers);
}

// A node may get it.
bool Allocator::is_open(const Model& model) const {
  return !model.facts->unload_ordered && (!model.rests || is_hot(model, model.servers));
}

}  // namespace corral::mesh
