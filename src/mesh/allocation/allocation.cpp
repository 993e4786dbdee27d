#include "mesh/allocation/allocation.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "mesh/allocation/allocator.h"

namespace corral::mesh {
namespace {

template <typename Enum, std::size_t N>
std::string_view name_in(const std::string_view (&names)[N], Enum value) {
  return names[static_cast<std::size_t>(value)];
}

std::string no_request_for(std::uint64_t ms) {
  constexpr std::uint64_t kSecond = 1'000, kMinute = 60'000;
  return ms < 2 * kMinute ? fmt::format("no request for {} s", ms / kSecond)
                          : fmt::format("no request for {} minutes", ms / kMinute);
}

}  // namespace

std::string_view name_of(Priority priority) {
  constexpr std::string_view kNames[] = {"told", "completes", "unserved", "capacity", "fetch", "biggest"};
  return name_in(kNames, priority);
}
std::string_view name_of(Part part) {
  constexpr std::string_view kNames[] = {"alone", "replica", "share", "standby"};
  return name_in(kNames, part);
}
std::string_view name_of(UnloadCause cause) {
  constexpr std::string_view kNames[] = {"told", "idle", "wanted_elsewhere", "recalled"};
  return name_in(kNames, cause);
}
std::string_view name_of(UnservedReason reason) {
  constexpr std::string_view kNames[] = {"told",     "resting",  "not_asked", "no_file", "no_memory",
                                         "no_links", "too_slow", "taken",     "declined"};
  return name_in(kNames, reason);
}

Allocation allocate(const AllocationInput& situation, const AllocationRules& rules) {
  return Allocator(situation, rules).run();
}

Allocator::Allocator(const AllocationInput& situation, const AllocationRules& rules)
    : situation_(situation), rules_(rules), links_(situation.links), away_(situation.away) {
  std::set<ContentKey> served;
  for (const auto& node : situation.nodes) {
    for (const auto& held : node.holds) served.insert(held.model);
  }
  for (const auto& facts : situation.models) {
    Model model;
    model.facts = &facts;
    model.in_vain = facts.per_hour > 0 && !served.contains(facts.content);
    model.rests = facts.resting;
    models_.push_back(std::move(model));
  }
  const auto order = [](const Model& model) {
    return std::tuple(model.in_vain ? -model.facts->per_hour : 0, ~model.facts->bytes,
                      std::string_view(model.facts->name), model.facts->content);
  };
  std::ranges::sort(models_, {}, order);
  for (std::size_t i = 0; i < models_.size(); ++i) places_.emplace(models_[i].facts->content, i);

  for (const auto& facts : situation.nodes) {
    Node node;
    node.facts = &facts;
    node.on_disk.insert(facts.on_disk.begin(), facts.on_disk.end());
    nodes_.push_back(std::move(node));
  }
  std::ranges::sort(nodes_, {}, [](const Node& node) { return node.facts->id; });
}

Allocation Allocator::run() {
  find_split_models();
  for (auto& node : nodes_) keep(node);
  for (auto& node : nodes_) obey(node);
  complete_splits(true);
  find_roomiest();
  give_what_is_missed();
  complete_splits(false);
  find_roomiest();
  std::vector<Node*> joiners;
  for (auto& node : nodes_)
    if (node.state == Node::State::free) joiners.push_back(&node);
  const auto little_first = [](const Node* node) { return std::tuple(max_headroom(*node->facts), node->facts->id); };
  std::ranges::sort(joiners, {}, little_first);
  give(joiners);
  make_room();
  explain();
  std::ranges::sort(result_.assignments, {}, [](const auto& one) { return std::tie(one.node, one.model); });
  std::ranges::sort(result_.unloads, {}, [](const auto& one) { return std::tie(one.node, one.model); });
  std::ranges::sort(result_.splits, {}, &SplitDecision::model);
  return std::move(result_);
}

// A node keeps its model without a reason for an unload.
void Allocator::keep(Node& node) {
  for (const auto& held : node.facts->holds) {
    if (!places_.contains(held.model)) continue;
    auto& model = model_of(held.model);
    const bool of_group = held.use == HeldModel::Use::share;
    const bool hosted = held.use == HeldModel::Use::hosted;
    if (!hosted && (!node.held || held.model < node.held->model)) node.held = &held;
    // A group counts once, with its host.
    if (!held.draining && (!of_group || held.host == node.facts->id)) ++model.servers;
    model.grouped = model.grouped || of_group;
    // A worker's own clients have loaded a model: the mesh can't use its memory now.
    if (hosted && node.facts->role == Role::worker) node.state = Node::State::closed;
  }
  if (node.facts->role == Role::client || node.facts->just_gone || node.facts->recalled)
    node.state = Node::State::closed;
  if (!node.held) return;

  auto& model = model_of(node.held->model);
  const auto& order = node.facts->order;
  const bool of_group = node.held->use == HeldModel::Use::share;
  const auto host = std::ranges::find(nodes_, node.held->host, [](const Node& one) { return one.facts->id; });
  if (node.held->draining || (of_group && host == nodes_.end())) {
    if (node.state == Node::State::free) node.state = Node::State::leaving;
    return;
  }
  if (node.facts->just_gone) {
    // It counts as present for a moment.
  } else if (node.facts->recalled) {
    return let_go(node, UnloadCause::recalled, "its owner needs the memory");
  } else if (order ? order->model != node.held->model : is_unload_ordered(node)) {
    return let_go(node, UnloadCause::ordered, "a user ordered it");
  } else if (!order && !node.held->by_hand && std::chrono::milliseconds(node.held->idle_ms) >= rules_.idle_unload) {
    return let_go(node, UnloadCause::idle, no_request_for(node.held->idle_ms));
  }
  node.state = node.state == Node::State::closed ? node.state : Node::State::held;
  model.promised = true;
  const auto part = of_group ? Part::share : model.servers > 1 ? Part::replica : Part::alone;
  result_.assignments.push_back({node.facts->id, node.held->model, part, Fetch::none, std::nullopt, false,
                                 fmt::format("{} has {} and keeps it", node.facts->name, model.facts->name)});
}

// For a group its host has the order. A valid split order is newer than orders to unload the model.
bool Allocator::is_unload_ordered(const Node& node) const {
  const auto& held = *node.held;
  if (held.use == HeldModel::Use::share && models_[places_.at(held.model)].named) return false;
  const auto& asked = held.use == HeldModel::Use::share ? held.host : node.facts->id;
  const auto at = std::ranges::find(nodes_, asked, [](const Node& one) { return one.facts->id; });
  if (at == nodes_.end()) return false;
  const auto& back = at->facts->gives_back;
  return std::ranges::find(back, held.model) != back.end();
}

void Allocator::let_go(Node& node, UnloadCause cause, std::string why, const Model* for_model) {
  auto& model = model_of(node.held->model);
  if (node.held->use != HeldModel::Use::share || node.held->host == node.facts->id) {
    --model.servers;
    model.grouped = false;
  }
  model.promised = model.servers > 0;
  if (node.state == Node::State::free || node.state == Node::State::held) node.state = Node::State::leaving;
  std::erase_if(result_.assignments, [&](const auto& kept) { return kept.node == node.facts->id; });
  model.rests = model.rests || cause == UnloadCause::idle;
  std::optional<ContentKey> successor;
  if (for_model) successor = for_model->facts->content;
  result_.unloads.push_back({node.facts->id, node.held->model, cause, successor,
                             fmt::format("{} unloads {}: {}", node.facts->name, model.facts->name, why)});
}

// An order for a node comes before everything that the allocation would give it.
void Allocator::obey(Node& node) {
  const auto& order = node.facts->order;
  if (!order || node.state == Node::State::closed || node.state == Node::State::held) return;
  if (!order->model || !places_.contains(*order->model)) {
    node.state = Node::State::closed;
    return;
  }
  if (std::ranges::find(node.facts->holds, *order->model, &HeldModel::model) != node.facts->holds.end()) {
    node.state = Node::State::closed;  // its owner has loaded it
    return;
  }
  node.only = order->model;
  auto& model = model_of(*order->model);
  const bool waits = node.state == Node::State::leaving;
  if (model.split) return;  // the node stays reserved for that model's group
  if (way_to(node, model) && fits(node, model)) {
    assign(node, model, model.servers > 0 ? Part::replica : Part::alone, Priority::ordered, "a user ordered it", waits);
  } else {
    node.state = Node::State::closed;
  }
}

// For needs that no node knows: the most memory that a free node has.
void Allocator::find_roomiest() {
  roomiest_ = 0;
  for (const auto& node : nodes_)
    if (node.state == Node::State::free) roomiest_ = std::max(roomiest_, max_headroom(*node.facts));
}

// Models with requests that no node serves, most requests first, before any priority: so memory freed for such a model
// goes to no other one.
void Allocator::give_what_is_missed() {
  std::size_t tries = 0;  // of splits
  for (auto& model : models_) {
    if (!model.in_vain || model.servers > 0 || model.promised || !is_open(model)) continue;
    if (model.split) {
      if (++tries <= kMaxSplitTries) complete(model);
      continue;
    }
    std::vector<std::tuple<bool, std::uint64_t, NodeId, Node*>> able;
    for (auto& node : nodes_) {
      if (node.state != Node::State::free || !may_have(node, model) || !fits(node, model)) continue;
      if (const auto way = way_to(node, model))
        able.emplace_back(*way != Fetch::none, max_headroom(*node.facts), node.facts->id, &node);
    }
    if (able.empty()) continue;
    const auto& [fetched, room, id, node] = std::ranges::min(able);
    assign(*node, model, Part::alone, fetched ? Priority::fetch : Priority::unserved, "no node serves it");
  }
}

// Each step runs for all nodes before the next one: so no node copies a file of a model that another joiner has on
// disk.
void Allocator::give(const std::vector<Node*>& joiners) {
  const auto each = [&](const auto& step) {
    for (auto* node : joiners) {
      if (node->state == Node::State::free) step(*node);
    }
  };
  for (const bool fetched : {false, true}) {
    each([&](Node& node) { give_unserved(node, fetched); });
    each([&](Node& node) { give_capacity(node, fetched); });
  }
  each([&](Node& node) {
    if (node.facts->role == Role::worker || node.only) give_biggest(node);
  });
}

void Allocator::give_unserved(Node& node, bool fetched) {
  for (auto& model : models_) {
    if (model.servers > 0 || model.promised || model.split || !is_open(model)) continue;
    const auto way = way_to(node, model);
    if (!way || (*way != Fetch::none) != fetched || !may_have(node, model) || !fits(node, model)) continue;
    assign(node, model, Part::alone, fetched ? Priority::fetch : Priority::unserved, "no node serves it");
    return;
  }
}

void Allocator::give_capacity(Node& node, bool fetched) {
  for (auto& model : models_) {
    if (!is_hot(model, model.servers) || !is_open(model) || has(node, model)) continue;
    const auto way = way_to(node, model);
    if (!way || (*way != Fetch::none) != fetched || !may_have(node, model)) continue;
    if (!model.split && !fits(node, model)) continue;
    const auto why = fmt::format("{:.0f} requests an hour, and only {} serve it", model.facts->per_hour, model.servers);
    assign(node, model, model.split ? Part::standby : Part::replica, fetched ? Priority::fetch : Priority::capacity,
           why);
    return;
  }
}

// Also an incomplete group: it grows until it is complete.
void Allocator::give_biggest(Node& node) {
  std::vector<Model*> by_size;
  for (auto& model : models_) by_size.push_back(&model);
  std::ranges::sort(by_size, {}, [](const Model* model) {
    return std::tuple(~model->facts->bytes, std::string_view(model->facts->name), model->facts->content);
  });
  for (auto* model : by_size) {
    if (!is_open(*model) || !may_have(node, *model)) continue;
    if (model->split) {
      assign(node, *model, Part::standby, Priority::biggest,
             model->grouped || model->promised ? "it is the biggest model, and its running group stays as it is"
                                               : "it is the biggest model, and needs more nodes");
      return;
    }
    if (model->servers == 0 || !way_to(node, *model) || !fits(node, *model)) continue;
    assign(node, *model, Part::replica, Priority::biggest, "all others are served, and it is the biggest model");
    return;
  }
}

void Allocator::assign(Node& node, Model& model, Part part, Priority priority, std::string why, bool waits) {
  node.state = Node::State::held;
  node.taken = true;
  if (part != Part::standby) model.promised = true;
  if (part == Part::alone || part == Part::replica) ++model.servers;
  // Weights of shares come from the host.
  const bool own_file = part == Part::alone || part == Part::replica;
  const auto fetch = own_file ? way_to(node, model).value_or(Fetch::none) : Fetch::none;
  auto text = fmt::format("{} gets {}: {}", node.facts->name, model.facts->name, why);
  if (waits) text += "; as soon as the memory is free";
  result_.assignments.push_back(
      {node.facts->id, model.facts->content, part, Fetch::none, priority, waits, std::move(text)});
  note_fetch(result_.assignments.back(), fetch);
}

void Allocator::note_fetch(Assignment& line, Fetch fetch) {
  line.fetch = fetch;
  if (fetch == Fetch::copy) line.why += "; it copies the file first";
  if (fetch == Fetch::download) line.why += "; it downloads the file first";
}

}  // namespace corral::mesh
