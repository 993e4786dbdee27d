// Splits, and memory that another model needs.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/human_bytes.h"
#include "mesh/allocation/allocator.h"

namespace corral::mesh {
void Allocator::find_split_models() {
  bool lent[2] = {false, false};
  for (const auto& node : nodes_) {
    for (const bool gpu : {false, true}) lent[gpu] = lent[gpu] || max_headroom(*node.facts, gpu) > 0;
  }
  for (auto& model : models_) {
    model.named = can_be_named(model);
    model.split = model.named || (lent[model.facts->gpu] && needs_several(situation_, *model.facts));
  }
}

// An order lists nodes for it, all are there, and its host has links to the others. Otherwise it is treated as any
// other model.
bool Allocator::can_be_named(const Model& model) const {
  const auto& over = model.facts->split_over;
  if (over.empty()) return false;
  const auto there = [&](const NodeId& id) {
    return std::ranges::any_of(nodes_, [&](const Node& node) { return node.facts->id == id; });
  };
  const auto hosts = [&](const NodeId& host) {
    return std::ranges::all_of(over, [&](const NodeId& id) { return id == host || links_.find(host, id) != nullptr; });
  };
  if (!std::ranges::all_of(over, there)) return false;
  const auto& ordered = model.facts->split_host;
  return ordered && std::ranges::find(over, *ordered) != over.end() ? hosts(*ordered)
                                                                    : std::ranges::any_of(over, hosts);
}

// Other nodes got it while one of the ordered nodes was away. They unload it once it is idle.
bool Allocator::stands_elsewhere(const Model& model) const {
  std::vector<NodeId> nodes;
  for (const auto& node : nodes_) {
    const auto* held = node.held;
    if (held == nullptr || held->use != HeldModel::Use::share || held->model != model.facts->content) continue;
    const bool idle = std::chrono::milliseconds(held->idle_ms) >= rules_.quiet;
    if (node.state != Node::State::held || node.taken || held->draining || held->by_hand || !idle) return false;
    nodes.push_back(node.facts->id);
  }
  return !nodes.empty() && nodes != model.facts->split_over;
}

void Allocator::complete_splits(bool of_named) {
  // First models whose file a free node has.
  std::vector<std::pair<bool, Model*>> wanted;
  for (auto& model : models_) {
    // A model that one node serves stays there, unless an order lists other nodes.
    const bool named = model.named && (!model.grouped || stands_elsewhere(model));
    // An unload removes earlier split orders, so a split order is newer than the unload.
    if (named != of_named || !model.split || (!named && !is_open(model))) continue;
    if (!named && (model.servers > 0 || model.promised)) continue;
    const bool nowhere = std::ranges::none_of(nodes_, [&](const Node& node) {
      return node.state == Node::State::free && node.has_file(model.facts->content);
    });
    wanted.emplace_back(nowhere, &model);
  }
  std::ranges::sort(wanted);
  if (wanted.size() > kMaxSplitTries) wanted.resize(kMaxSplitTries);
  for (const auto& one : wanted) complete(*one.second);
}

// An ordered split lists the node, and it has an idle model, or this very model alone.
bool Allocator::waits_for_split(const Node& node, const Model& model) const {
  if (node.state != Node::State::held || node.taken || node.facts->just_gone || node.held->draining) return false;
  if (has_alone(node, model)) return true;
  return !node.facts->order && !node.held->by_hand && std::chrono::milliseconds(node.held->idle_ms) >= rules_.quiet;
}

bool Allocator::has_alone(const Node& node, const Model& model) {
  return node.held != nullptr && node.held->model == model.facts->content && node.held->use != HeldModel::Use::share;
}

// Why a node of an ordered split has no share now; for people.
std::string Allocator::why_not(const NodeId& id, const Model& model) const {
  const auto node = std::ranges::find(nodes_, id, [](const Node& one) { return one.facts->id; });
  if (node == nodes_.end()) {
    const auto away = away_.find(id);
    return fmt::format("{} can't be reached", away == away_.end() ? short_text(id) : away->second);
  }
  const auto& name = node->facts->name;
  if (node->facts->just_gone) return fmt::format("{} can't be reached just now", name);
  if (node->only && *node->only != model.facts->content)
    return fmt::format("{} is assigned to another model (free it: corral mesh assign {} auto)", name, name);
  const auto& declined = node->facts->declines;
  if (std::ranges::find(declined, model.facts->content) != declined.end())
    return fmt::format("{} failed to load it just now, and tries again later", name);
  if (node->taken) return fmt::format("{} gets another model", name);
  if (node->held != nullptr) {
    const auto held = places_.find(node->held->model);
    const auto what = held == places_.end() ? std::string("another model") : models_[held->second].facts->name;
    if (node->held->draining) return fmt::format("{} is unloading {}", name, what);
    if (node->held->by_hand)
      return fmt::format("{} holds {} by another order (end it: corral mesh unload {})", name, what, what);
    return fmt::format(
        "{} has {}, last used {} s ago: it is unloaded after {} s without requests (now: corral mesh unload {})", name,
        what, node->held->idle_ms / 1000, rules_.quiet.count() / 1000, what);
  }
  return fmt::format("{} lends no memory now", name);
}

// The nodes that could hold a share, by `willing`: 0 free ones, 1 also nodes that are unloading a model, 2 also nodes
// with a model that may be replaced. For an ordered split only its nodes.
std::vector<Allocator::Node*> Allocator::may_join(const Model& model, int willing) {
  std::vector<Node*> found;
  for (auto& node : nodes_) {
    const bool named = is_named_for(node, model);
    if (!may_have(node, model) || (!named && model.named)) continue;
    const bool joins = node.state == Node::State::free || (willing >= 1 && node.state == Node::State::leaving) ||
                       (willing >= 2 && (named ? waits_for_split(node, model) : is_lesser(node, model)));
    if (joins) found.push_back(&node);
  }
  return found;
}

bool Allocator::complete(Model& model) {
  std::size_t tried = 0;
  for (const int willing : {0, 1, 2}) {
    const auto joining = may_join(model, willing);
    // No more nodes: the same result.
    if (willing > 0 && joining.size() == tried) continue;
    tried = joining.size();
    if (form(model, joining)) return true;
  }
  return false;
}

bool Allocator::form(Model& model, const std::vector<Node*>& joining) {
  static const std::vector<NodeId> kAnyNodes;
  const auto& over = model.named ? model.facts->split_over : kAnyNodes;
  if (joining.size() < over.size()) {
    std::string missing;
    for (const auto& id : over) {
      if (std::ranges::any_of(joining, [&](const Node* node) { return node->facts->id == id; })) continue;
      missing += (missing.empty() ? "" : "; ") + why_not(id, model);
    }
    model.shortage = SplitShortage{SplitObstacle::no_links, 0, 0, missing};
    return false;
  }
  // Nodes of one version of llama.cpp only; most memory first.
  std::map<std::string, std::vector<const Node*>> by_engine;
  for (const auto* node : joining) by_engine[node->facts->engine].push_back(node);
  std::vector<std::vector<const Node*>> alike;
  for (auto& [engine, nodes] : by_engine) alike.push_back(std::move(nodes));
  if (alike.empty()) alike.emplace_back();  // for the shortage
  const auto memory = [&](const std::vector<const Node*>& nodes) {
    std::uint64_t sum = 0;
    for (const auto* node : nodes) sum += capacity(*node, model);
    return sum;
  };
  std::ranges::sort(alike, {}, [&](const auto& nodes) {
    return std::pair(~memory(nodes), nodes.empty() ? std::string() : nodes.front()->facts->engine);
  });
  if (!over.empty() && alike.size() > 1) {
    model.shortage = SplitShortage{SplitObstacle::no_links, 0, 0,
                                   "the ordered nodes have different versions of llama.cpp: install the same one"};
    return false;
  }
  std::optional<SplitPlan> plan;
  bool first = true;
  for (const auto& nodes : alike) {
    auto answer = plan_over(model, nodes);
    if (!answer) continue;
    if (answer->plan) {
      plan = std::move(answer->plan);
      break;
    }
    if (std::exchange(first, false)) model.shortage = std::move(answer->shortage);
  }
  if (!plan) return false;
  model.shortage.reset();
  std::vector<Node*> group, strayed;
  for (const auto& share : plan->shares)
    group.push_back(*std::ranges::find(joining, share.node, [](const Node* node) { return node->facts->id; }));
  const auto why = over.empty() ? fmt::format("it needs {} nodes, and can't run without this one", group.size())
                                : std::string("a user ordered a split over these nodes");
  // A group over other nodes ends as a whole.
  for (auto& node : nodes_) {
    const bool strays = !over.empty() && model.grouped && node.state == Node::State::held && !node.taken &&
                        node.held->model == model.facts->content && !has_alone(node, model);
    if (strays && std::ranges::find(group, &node) == group.end()) strayed.push_back(&node);
  }
  const bool waits =
      !strayed.empty() || std::ranges::any_of(group, [](const Node* node) { return node->state != Node::State::free; });
  for (auto* node : strayed) let_go(*node, UnloadCause::ordered, "a user ordered a split over other nodes");
  for (auto* node : group) {
    if (node->state == Node::State::held && node->held->model == model.facts->content) {
      let_go(*node, UnloadCause::ordered, "a user ordered a split of it");
    } else if (node->state == Node::State::held) {
      let_go(*node, UnloadCause::wanted_elsewhere, fmt::format("{} needs the memory", model.facts->name), &model);
    }
    assign(*node, model, Part::share, over.empty() ? Priority::completes : Priority::ordered, why, waits);
    if (plan->host == node->facts->id && !plan->host_has_file)
      note_fetch(result_.assignments.back(), way_to(*node, model).value_or(Fetch::none));
  }
  ++model.servers;
  result_.splits.push_back({model.facts->content, std::move(*plan), waits});
  return true;
}

// The host has the file; if no node has it, the host can get it. Nothing: there is enough memory, but no possible host.
std::optional<SplitAnswer> Allocator::plan_over(const Model& model, const std::vector<const Node*>& nodes) const {
  SplitQuery query{.model = split_model_of(*model.facts),
                   .nodes = {},
                   .links = &links_,
                   .ordered = model.named,
                   .host = model.named ? model.facts->split_host : std::nullopt,
                   .max_wait = rules_.max_wait};
  for (const auto* node : nodes) {
    query.nodes.push_back(split_node_of(*node->facts, *model.facts, capacity(*node, model), false));
  }
  std::optional<SplitAnswer> answer;
  for (const bool fetched : {false, true}) {
    bool any = false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      auto& hosts = query.nodes[i].has_file;
      hosts = nodes[i]->has_file(model.facts->content) || (fetched && way_to(*nodes[i], model));
      any = any || hosts;
    }
    if (!any && !fetched) continue;
    auto tried = plan_split(query);
    const bool enough = tried.plan || tried.shortage->obstacle == SplitObstacle::fits_alone;
    if (!any && enough) return std::nullopt;
    if (tried.plan) {
      const auto host = std::ranges::find(nodes, tried.plan->host, [](const Node* node) { return node->facts->id; });
      tried.plan->host_has_file = (*host)->has_file(model.facts->content);
      return tried;
    }
    if (!answer) answer = std::move(tried);
  }
  return answer;
}

// The other servers are enough.
bool Allocator::is_surplus(const Model& model) const { return model.servers > 1 && !is_hot(model, model.servers - 1); }

// `model`, which has requests, may replace the node's model.
bool Allocator::is_lesser(const Node& node, const Model& model) const {
  if (node.state != Node::State::held || node.taken || node.facts->order || node.facts->just_gone) return false;
  if (node.held->draining || node.held->by_hand || std::chrono::milliseconds(node.held->idle_ms) < rules_.quiet)
    return false;
  const auto& held = models_[places_.at(node.held->model)];
  if (held.facts->content == model.facts->content) return false;
  if (model.facts->per_hour > 0)
    return is_surplus(held) || model.facts->per_hour >= rules_.worth * held.facts->per_hour;
  return model.facts->wanted && held.facts->per_hour <= 0 && (is_surplus(held) || !held.facts->wanted);
}

void Allocator::make_room() {
  for (auto& model : models_) {
    if (model.servers > 0 || model.promised || model.split || !is_open(model)) continue;
    if (model.facts->per_hour <= 0 && !model.facts->wanted) continue;
    std::vector<Node*> able;
    for (auto& node : nodes_) {
      const bool soon = node.state == Node::State::leaving || is_lesser(node, model);
      if (soon && may_have(node, model) && way_to(node, model) && fits(node, model)) able.push_back(&node);
    }
    if (able.empty()) continue;
    auto* const node = std::ranges::min(able, {}, [&](const Node* one) {
      const auto& held = model_of(one->held->model);
      return std::tuple(one->state != Node::State::leaving, !is_surplus(held), held.facts->per_hour,
                        !one->has_file(model.facts->content), capacity(*one, model), one->facts->id);
    });
    if (node->state == Node::State::held)
      let_go(*node, UnloadCause::wanted_elsewhere, fmt::format("{} needs the memory", model.facts->name), &model);
    const bool on_disk = node->has_file(model.facts->content);
    assign(*node, model, Part::alone, on_disk ? Priority::unserved : Priority::fetch, "no node serves it", true);
  }
}

void Allocator::explain() {
  for (const auto& model : models_) {
    if (model.servers == 0 && !model.promised) {
      result_.unserved.push_back(unserved_of(model));
    } else if (model.named && !model.grouped && model.shortage) {
      result_.unsplit.push_back(unserved_of(model));
    } else if (model.named && model.grouped) {
      if (auto why = why_elsewhere(model); !why.empty())
        result_.unsplit.push_back({model.facts->content, UnservedReason::taken, 0, 0, std::move(why)});
    }
    if (!model.facts->split_over.empty() && !model.named)
      result_.unsplit.push_back({model.facts->content, UnservedReason::no_links, 0, 0, why_unsplit(model)});
  }
  std::ranges::sort(result_.unserved, {}, &Unserved::model);
  std::ranges::sort(result_.unsplit, {}, &Unserved::model);
}

// For a model that other nodes hold than the ordered ones; empty: they don't.
std::string Allocator::why_elsewhere(const Model& model) const {
  const auto& over = model.facts->split_over;
  const auto other = std::ranges::find_if(nodes_, [&](const Node& node) {
    const bool holds = node.held != nullptr && node.held->model == model.facts->content && !has_alone(node, model);
    return holds && !node.held->draining && std::ranges::find(over, node.facts->id) == over.end();
  });
  if (other == nodes_.end()) return {};
  const auto& name = model.facts->name;
  if (other->held->by_hand)
    return fmt::format("{}: {} holds it by an earlier order (end it: corral mesh unload {})", name, other->facts->name,
                       name);
  return fmt::format("{}: {} holds it, and unloads it after {} s without requests", name, other->facts->name,
                     rules_.quiet.count() / 1000);
}

// Why an ordered split doesn't exist.
std::string Allocator::why_unsplit(const Model& model) const {
  std::string missing;
  for (const auto& id : model.facts->split_over) {
    const bool there = std::ranges::any_of(nodes_, [&](const Node& node) { return node.facts->id == id; });
    if (!there) missing += (missing.empty() ? "" : "; ") + why_not(id, model);
  }
  if (missing.empty()) missing = "the ordered nodes have no links to one host";
  return fmt::format("{}: {}", model.facts->name, missing);
}

Unserved Allocator::unserved_of(const Model& model) const {
  const auto& facts = *model.facts;
  const auto unserved = [&](UnservedReason reason, std::string why, std::uint64_t need = 0, std::uint64_t have = 0) {
    return Unserved{facts.content, reason, need, have, fmt::format("{}: {}", facts.name, why)};
  };
  const bool named = model.named;
  if (facts.unload_ordered && !named) return unserved(UnservedReason::ordered, "a user unloaded it");
  if (model.rests && !named)
    return unserved(UnservedReason::resting, "it was idle, and is loaded with the next request");
  if (model.split) {
    const bool waits = std::ranges::any_of(nodes_, [&](const Node& node) {
      return node.facts->role == Role::member && !may_have(node, model) && !node.only;
    });
    if (waits && !named && facts.per_hour <= 0 && !facts.wanted)
      return unserved(UnservedReason::not_asked, "members lend memory for models with requests, and it has none");
    if (!model.shortage)
      return unserved(UnservedReason::no_file, "no node that could host it has the file or can get it");
    const auto& shortage = *model.shortage;
    const auto reason = shortage.obstacle == SplitObstacle::no_links   ? UnservedReason::no_links
                        : shortage.obstacle == SplitObstacle::too_slow ? UnservedReason::too_slow
                                                                       : UnservedReason::no_memory;
    return unserved(reason, shortage.text, shortage.need, shortage.have);
  }
  const Node* roomiest = nullptr;
  bool fetched = false, unasked = false, ordered = false, declined = false;
  const auto missing = [&](const Node& node) {
    const auto need = need_at(*node.facts, facts);
    return need - std::min(need, capacity(node, model));
  };
  for (const auto& node : nodes_) {
    const auto there = capacity(node, model);
    const bool fits_there = there > 0 && missing(node) == 0;
    const auto& declines = node.facts->declines;
    if (fits_there && std::ranges::find(declines, facts.content) != declines.end()) {
      declined = true;
      continue;
    }
    if (!may_have(node, model)) {
      (node.only ? ordered : unasked) |= fits_there;
      continue;
    }
    const auto rank = [&](const Node& one) { return std::tuple(~missing(one), capacity(one, model)); };
    if (!roomiest || rank(node) > rank(*roomiest)) roomiest = &node;
    fetched = fetched || (fits_there && way_to(node, model));
  }
  const auto max_capacity = roomiest ? capacity(*roomiest, model) : 0;
  const auto need = roomiest ? need_at(*roomiest->facts, facts) : facts.need;
  if (need > max_capacity || max_capacity == 0) {
    if (declined)
      return unserved(UnservedReason::declined,
                      "the nodes that could hold it failed to load it, or lost it just now; they try again later");
    if (ordered) return unserved(UnservedReason::taken, "the nodes that could hold it are assigned to other models");
    if (unasked)
      return unserved(UnservedReason::not_asked,
                      "only members could hold it, and they lend memory for models with requests");
    if (max_capacity == 0) return unserved(UnservedReason::no_memory, "no node lends memory", need);
    return unserved(UnservedReason::no_memory,
                    fmt::format("it needs {}, {} lends {}: {} short", human_bytes(need), roomiest->facts->name,
                                human_bytes(max_capacity), human_bytes(need - max_capacity)),
                    need, max_capacity);
  }
  if (!fetched) return unserved(UnservedReason::no_file, "no node that could hold it has the file or can get it");
  return unserved(UnservedReason::taken, "all nodes that could hold it have models with about as many requests");
}

}  // namespace corral::mesh
