// Splits, and memory that is wanted elsewhere.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "mesh/allocation/allocator.h"
#include "mesh/catalog/words.h"

namespace corral::mesh {
namespace {

// A mesh full of models that are too large for it must not cost more than this.
constexpr std::size_t kMostSplitTries = 64;

}  // namespace

// By all that a node has, not by what is free just now: a model that fits somewhere waits for that.
void Allocator::find_split_models() {
  std::uint64_t best[2] = {0, 0};
  for (const auto& node : nodes_) {
    for (const bool gpu : {false, true}) best[gpu] = std::max(best[gpu], most_room(*node.facts, gpu));
  }
  for (auto& model : models_)
    model.split = model.facts->split_told || (model.facts->need > best[model.facts->gpu] && best[model.facts->gpu] > 0);
}

void Allocator::complete_splits() {
  // Where a node that could join has the file, first.
  std::vector<std::tuple<bool, bool, Model*>> wanted;
  for (auto& model : models_) {
    if (!model.split || model.servers > 0 || model.promised || !is_open(model)) continue;
    const bool nowhere = std::ranges::none_of(nodes_, [&](const Node& node) {
      return node.state == Node::State::free && node.has_file(model.facts->content);
    });
    wanted.emplace_back(!model.in_vain, nowhere, &model);
  }
  std::ranges::sort(wanted);
  if (wanted.size() > kMostSplitTries) wanted.resize(kMostSplitTries);
  for (const auto& one : wanted) complete(*std::get<Model*>(one));
}

// The nodes that could hold a share, by how willing: 0 free ones, 1 those that are giving something back, 2 those that
// have something that is worth less.
std::vector<Allocator::Node*> Allocator::may_join(const Model& model, int willing) {
  std::vector<Node*> found;
  for (auto& node : nodes_) {
    if (!may_have(node, model)) continue;
    const bool joins = node.state == Node::State::free || (willing >= 1 && node.state == Node::State::leaving) ||
                       (willing >= 2 && is_lesser(node, model));
    if (joins) found.push_back(&node);
  }
  return found;
}

bool Allocator::complete(Model& model) {
  std::size_t tried = 0;
  for (const int willing : {0, 1, 2}) {
    const auto joining = may_join(model, willing);
    // Nobody more: the same answer.
    if (willing > 0 && joining.size() == tried) continue;
    tried = joining.size();
    SplitQuery query{.model = rough_split_model(model.facts->bytes, model.facts->need),
                     .nodes = {},
                     .links = &links_,
                     .told = false,
                     .most_wait = rules_.most_wait};
    bool hosted = model.facts->may_copy || model.facts->may_download;
    for (const auto* node : joining) {
      const bool has_file = node->has_file(model.facts->content);
      hosted = hosted || has_file;
      query.nodes.push_back({node->facts->id, capacity(*node, model), node->facts->speed, has_file});
    }
    if (!hosted) continue;
    auto answer = plan_split(query);
    model.shortage = std::move(answer.shortage);
    if (!answer.plan) continue;
    std::vector<Node*> group;
    for (const auto& share : answer.plan->shares)
      group.push_back(*std::ranges::find(joining, share.node, [](const Node* node) { return node->facts->id; }));
    const bool waits = std::ranges::any_of(group, [](const Node* node) { return node->state != Node::State::free; });
    for (auto* node : group) {
      if (node->state == Node::State::held)
        let_go(*node, UnloadCause::wanted_elsewhere, fmt::format("{} needs the memory", model.facts->name), &model);
      assign(*node, model, Part::share, Priority::completes,
             fmt::format("it needs {} nodes, and can't run without this one", group.size()), waits);
    }
    model.servers = 1;
    result_.splits.push_back({model.facts->content, std::move(*answer.plan), waits});
    return true;
  }
  return false;
}

// Others still serve it, and suffice.
bool Allocator::is_surplus(const Model& model) const { return model.servers > 1 && !is_hot(model, model.servers - 1); }

// What it has may go for `model`, which is asked for.
bool Allocator::is_lesser(const Node& node, const Model& model) const {
  if (node.state != Node::State::held || node.taken || node.facts->told || node.facts->just_gone) return false;
  if (node.held->draining || std::chrono::milliseconds(node.held->idle_ms) < rules_.quiet) return false;
  const auto& held = models_[places_.at(node.held->model)];
  if (held.facts->content == model.facts->content) return false;
  if (model.facts->per_hour > 0)
    return is_surplus(held) || model.facts->per_hour >= rules_.worth * held.facts->per_hour;
  return model.facts->wished && held.facts->per_hour <= 0 && (is_surplus(held) || !held.facts->wished);
}

void Allocator::make_room() {
  for (auto& model : models_) {
    if (model.servers > 0 || model.promised || model.split || !is_open(model)) continue;
    if (model.facts->per_hour <= 0 && !model.facts->wished) continue;
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
    assign(*node, model, Part::alone, on_disk ? Priority::unserved : Priority::fetch, "nobody serves it", true);
  }
}

void Allocator::explain() {
  for (const auto& model : models_) {
    if (model.servers == 0 && !model.promised) result_.unserved.push_back(lack_of(model));
  }
  std::ranges::sort(result_.unserved, {}, &Unserved::model);
}

Unserved Allocator::lack_of(const Model& model) const {
  const auto& facts = *model.facts;
  const auto lacks = [&](Lack lack, std::string why, std::uint64_t need = 0, std::uint64_t have = 0) {
    return Unserved{facts.content, lack, need, have, fmt::format("{}: {}", facts.name, why)};
  };
  if (facts.unload_told) return lacks(Lack::told, "somebody has had it unloaded");
  if (model.rests) return lacks(Lack::resting, "it was idle; it comes back when somebody asks for it");
  if (model.split) {
    if (!model.shortage) return lacks(Lack::no_file, "no node that could host it has the file or gets it");
    const auto& shortage = *model.shortage;
    const auto lack = shortage.obstacle == SplitObstacle::no_links   ? Lack::no_links
                      : shortage.obstacle == SplitObstacle::too_slow ? Lack::too_slow
                                                                     : Lack::no_memory;
    return lacks(lack, shortage.text, shortage.need, shortage.have);
  }
  const Node* roomiest = nullptr;
  bool fetched = false, unasked = false, told = false;
  for (const auto& node : nodes_) {
    const auto there = capacity(node, model);
    const bool fits_there = there > 0 && there >= facts.need;
    if (!may_have(node, model)) {
      (node.only ? told : unasked) |= fits_there;
      continue;
    }
    if (!roomiest || there > capacity(*roomiest, model)) roomiest = &node;
    fetched = fetched || (fits_there && way_to(node, model));
  }
  const auto most = roomiest ? capacity(*roomiest, model) : 0;
  if (facts.need > most || most == 0) {
    if (told) return lacks(Lack::taken, "the nodes that could hold it were told to have something else");
    if (unasked) return lacks(Lack::not_asked, "only members could hold it, and they lend to what is asked for");
    if (most == 0) return lacks(Lack::no_memory, "nobody lends memory", facts.need);
    return lacks(Lack::no_memory,
                 fmt::format("it needs {}, {} gives {}: {} short", in_gb(facts.need), roomiest->facts->name,
                             in_gb(most), in_gb(facts.need - most)),
                 facts.need, most);
  }
  if (!fetched) return lacks(Lack::no_file, "nobody who could hold it has the file or gets it");
  return lacks(Lack::taken, "all nodes that could hold it have something that is asked for as much");
}

}  // namespace corral::mesh
