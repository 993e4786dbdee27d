#include "mesh/allocation/allocation_input.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "mesh/allocation/believed.h"
#include "mesh/catalog/hashed_since.h"
#include "mesh/catalog/split_orders.h"

namespace corral::mesh {
namespace {

MemoryHeadroom room_on(const KnownNode& node, Device device) {
  ModelOnDisk any;
  any.device = device;
  return headroom_for(node, any);
}

// 4: the same type; 3: "Q4_K_M" and its type "q4_K"; 2: as many bits; 1: any other.
int likeness(std::string_view quantisation, std::string_view type) {
  if (equal_ignoring_case(quantisation, type)) return 4;
  if (quantisation.size() > type.size() && equal_ignoring_case(quantisation.substr(0, type.size()), type)) return 3;
  const auto bits = [](std::string_view text) {
    const auto digit = text.find_first_of("0123456789");
    return digit == std::string_view::npos ? '?' : text[digit];
  };
  if (bits(quantisation) == bits(type) && bits(type) != '?') return 2;
  return 1;
}

// The speed of the most similar type; of several the fastest, because other things slow small models down. 0: none.
std::uint64_t speed_with(const std::vector<WeightSpeed>& speeds, std::string_view quantisation) {
  std::pair<int, std::uint64_t> best{0, 0};
  for (const auto& speed : speeds)
    best = std::max(best, std::pair(likeness(quantisation, speed.type), speed.bytes_per_second));
  return best.second;
}

class Reader {
 public:
  Reader(const Catalog& catalog, MonoTime now, std::span<const NodeId> lost)
      : catalog_(catalog), now_(now), lost_(lost), hashed_(catalog) {}

  AllocationInput read() {
    for (const auto& node : catalog_.nodes()) add(node);
    for (const auto& model : catalog_.models()) add(model);
    for (const auto* node : known_) add_groups(*node);
    for (const auto* node : known_) add_leftovers(*node);
    for (const auto* node : known_) add_marks(*node);
    add_split_orders();
    add_demand();
    situation_.links = LinkTable(std::move(links_));
    return std::move(situation_);
  }

 private:
  void add(const KnownNode& known) {
    const bool gone = !is_routable(known.reach);
    const bool just_gone = gone && now_ - known.since < kJustGone && !std::ranges::binary_search(lost_, known.id);
    if (gone && !just_gone) situation_.away.emplace(known.id, catalog_.names().shown(known.id));
    if (!known.node_state || (gone && !just_gone)) return;
    known_.push_back(&known);
    const auto& node_state = *known.node_state;
    node_places_.emplace(known.id, situation_.nodes.size());
    auto& node = situation_.nodes.emplace_back();
    node.id = known.id;
    node.name = catalog_.names().shown(known.id);
    node.role = node_state.role;
    node.just_gone = just_gone;
    node.recalled = node_state.recalled;
    // The own node, too, counts with the memory that it lends.
    auto as_others_see = known;
    as_others_see.reach = Reach::linked;
    node.gpu = room_on(as_others_see, Device::gpu);
    node.cpu = room_on(as_others_see, Device::cpu);
    node.disk_free = node_state.disk_free;
    node.takes_copies = node_state.takes_copies;
    node.works = node_state.works;
    node.engine = node_state.engine;
    node.weight_speeds = node_state.weight_speeds;
    node.order = node_state.order;
    if (node.order && node.order->model) node.order->model = hashed_(*node.order->model);
    for (const auto& content : node_state.declined) node.declines.push_back(hashed_(content));
    for (const auto& content : node_state.unloads) node.gives_back.push_back(hashed_(content));
    for (const auto& wanted : node_state.wants) wants_.insert(wanted.name);
    // A catalog has no copies at unreachable nodes.
    if (!is_routable(known.reach)) {
      for (const auto& model : node_state.models) {
        const auto served = std::ranges::find(node_state.serving, model.name, &ServedModel::name);
        put(node, content_key(model), served == node_state.serving.end() ? nullptr : &*served);
      }
    }
    for (const auto& link : node_state.links)
      links_.push_back({known.id, link.to, link.round_trip_us, link.bytes_per_second});
  }

  void add(const MeshModel& known) {
    model_places_.emplace(known.content, situation_.models.size());
    auto& model = situation_.models.emplace_back();
    model.content = known.content;
    std::vector<const ModelOnDisk*> reports;
    for (const auto& copy : known.copies) reports.push_back(copy.model);
    const auto facts = believed(reports);
    model.bytes = facts.bytes;
    model.need = facts.need;
    model.shape = facts.shape;
    model.wanted = !known.wanted_by.empty();
    for (const auto& copy : known.copies) {
      add_terms(known.content, copy, facts);
      model.gpu = model.gpu || has(copy.model->device, Device::gpu);
      model.quantisation = std::max(model.quantisation, copy.model->quantisation);
      model.may_copy = model.may_copy || copy.model->may_copy;
      add(known, copy);
    }
    // The meaning of names differs between nodes; here all nodes must use the same name.
    model.name = known.plain_name;
    for (const auto& copy : known.copies) model.name = std::min(model.name, copy.model->name);
    model.wanted = model.wanted || is_wanted(known);
  }

  void add_terms(const ContentKey& content, const ModelCopy& copy, const Believed& facts) {
    const auto place = node_places_.find(copy.node->id);
    if (place == node_places_.end()) return;
    OwnTerms own{own_need(*copy.model, facts), own_shape(*copy.model, facts)};
    if (own.need != facts.need || own.shape != facts.shape)
      situation_.nodes[place->second].own.insert_or_assign(content, own);
  }

  bool is_wanted(const MeshModel& model) const {
    return wants_.contains(model.plain_name) ||
           std::ranges::any_of(model.copies, [&](const auto& copy) { return wants_.contains(copy.model->name); });
  }

  void add(const MeshModel& model, const ModelCopy& copy) {
    const auto place = node_places_.find(copy.node->id);
    if (place == node_places_.end()) return;
    auto& node = situation_.nodes[place->second];
    put(node, model.content, copy.serving);
    by_name_[copy.model->name].insert(model.content);
    by_name_[copy.model->name + "@" + hash8(model.content)].insert(model.content);
  }

  static void put(AllocationNode& node, const ContentKey& content, const ServedModel* serving) {
    node.on_disk.push_back(content);
    if (!serving) return;
    HeldModel held;
    held.model = content;
    held.use = serving->lent ? HeldModel::Use::lent : HeldModel::Use::hosted;
    held.bytes = serving->bytes;
    held.idle_ms = serving->state == ServingState::loading ? 0 : serving->idle_ms;
    held.draining = serving->state == ServingState::draining;
    node.holds.push_back(held);
  }

  // The host's report decides, and includes the model in the host's own memory. A waiting group holds no memory: its
  // model is planned as any other one.
  void add_groups(const KnownNode& host) {
    for (const auto& group : host.node_state->groups) {
      const auto model = hashed_(group.model);
      if (group.stage == GroupStage::waiting) {
        // The host may also report the model as loading, because requests wait for it there.
        auto& holds = situation_.nodes[node_places_.at(host.id)].holds;
        std::erase_if(holds, [&](const auto& held) { return held.model == model; });
        continue;
      }
      const bool draining = group.stage == GroupStage::draining || group.stage == GroupStage::stopping;
      for (const auto& share : group.shares) {
        const auto place = node_places_.find(share.node);
        if (place == node_places_.end() || !is_agreed(host.id, model, share.node)) continue;
        auto& holds = situation_.nodes[place->second].holds;
        std::erase_if(holds, [&](const auto& held) { return held.model == model; });
        holds.push_back({.model = model,
                         .use = HeldModel::Use::share,
                         .host = host.id,
                         .bytes = share.bytes,
                         .idle_ms = group.idle_ms,
                         .draining = draining,
                         .by_hand = group.by_hand});
      }
    }
  }

  // A report about another node's memory needs that node's own report.
  bool is_agreed(const NodeId& host, const ContentKey& model, const NodeId& node) {
    if (node == host) return true;
    const auto& shares = catalog_.node(node)->node_state->shares;
    return std::ranges::any_of(shares,
                               [&](const auto& one) { return one.host == host && hashed_(one.model) == model; });
  }

  // A share whose host no longer reports it is being released.
  void add_leftovers(const KnownNode& node) {
    auto& holds = situation_.nodes[node_places_.at(node.id)].holds;
    for (const auto& share : node.node_state->shares) {
      const auto model = hashed_(share.model);
      if (std::ranges::find(holds, model, &HeldModel::model) != holds.end()) continue;
      holds.push_back(
          {.model = model, .use = HeldModel::Use::share, .host = share.host, .bytes = share.bytes, .draining = true});
    }
  }

  AllocationModel* find_model(const ContentKey& content) {
    const auto place = model_places_.find(hashed_(content));
    return place == model_places_.end() ? nullptr : &situation_.models[place->second];
  }

  void add_marks(const KnownNode& node) {
    for (const auto& content : node.node_state->resting) {
      if (auto* model = find_model(content)) model->resting = true;
    }
    for (const auto& content : node.node_state->unloads) {
      if (auto* model = find_model(content)) model->unload_ordered = true;
    }
    for (const auto& copy : node.node_state->copying) {
      auto* model = copy.by_allocation ? find_model({copy.content, false}) : nullptr;
      if (model != nullptr) model->copying.push_back(node.id);
    }
  }

  // A newer order replaces an older one, also while the node with the newer one is away.
  void add_split_orders() {
    std::map<ContentKey, std::vector<GivenSplit>> given;
    for (const auto& node : catalog_.nodes()) {
      if (!node.node_state) continue;
      for (const auto& order : node.node_state->split_orders) given[hashed_(order.model)].push_back({node.id, order});
    }
    for (auto& [content, orders] : given) {
      auto* model = find_model(content);
      const auto* newest = newest_of(orders);
      if (model == nullptr || !node_places_.contains(newest->host)) continue;
      model->split_over = newest->order.nodes;
      model->split_host = newest->host;
    }
  }

  // An entry node uses its own names: a name of a model on its own disk means that model.
  AllocationModel* meant_by(const NodeState& entry, const std::string& name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return nullptr;
    auto contents = found->second;
    const auto own = std::ranges::find(entry.models, name, &ModelOnDisk::name);
    if (own != entry.models.end() && contents.contains(content_key(*own))) contents = {content_key(*own)};
    if (contents.size() != 1) return nullptr;
    return &situation_.models[model_places_.at(*contents.begin())];
  }

  void add_demand() {
    for (const auto& node : catalog_.nodes()) {
      if (!node.node_state || !node_places_.contains(node.id)) continue;
      for (const auto& demand : node.node_state->demand) {
        if (auto* model = meant_by(*node.node_state, demand.name)) model->per_hour += demand.per_hour;
      }
    }
  }

  const Catalog& catalog_;
  const MonoTime now_;
  const std::span<const NodeId> lost_;
  HashedSince hashed_;
  AllocationInput situation_;
  std::vector<const KnownNode*> known_;  // the nodes of situation_
  std::vector<LinkQuality> links_;
  std::map<NodeId, std::size_t> node_places_;
  std::map<ContentKey, std::size_t> model_places_;
  std::set<std::string> wants_;
  std::map<std::string, std::set<ContentKey>> by_name_;
};

}  // namespace

AllocationInput make_situation(const Catalog& catalog, MonoTime now, std::span<const NodeId> lost) {
  return Reader(catalog, now, lost).read();
}

std::uint64_t need_at(const AllocationNode& node, const AllocationModel& model) {
  const auto own = node.own.find(model.content);
  return own == node.own.end() ? model.need : own->second.need;
}

// As headroom_for(): memory of this kind of device, or of the other if the node has none of that kind.
std::uint64_t max_headroom(const AllocationNode& node, bool gpu) {
  return node.role == Role::client ? 0 : (gpu ? node.gpu : node.cpu).total;
}

bool may_come_to(const AllocationNode& node, const AllocationModel& model) {
  const auto has = [](const auto& list, const auto& one) { return std::ranges::find(list, one) != list.end(); };
  // A running copy has reserved its disk space.
  if (has(node.on_disk, model.content) || has(model.copying, node.id)) return true;
  return node.takes_copies && node.disk_free >= model.bytes && (model.may_copy || model.may_download);
}

bool needs_several(const AllocationInput& situation, const AllocationModel& model) {
  if (model.need == 0) return false;
  bool hosted = false;
  for (const auto& node : situation.nodes) {
    const bool fits = need_at(node, model) <= max_headroom(node, model.gpu);
    if (node.role == Role::client || (hosted && !fits) || !may_come_to(node, model)) continue;
    if (fits) return false;
    hosted = true;
  }
  return hosted;
}

SplitNode split_node_of(const AllocationNode& node, const AllocationModel& model, std::uint64_t memory, bool has_file) {
  // The host's own layers, too, are kept as they are in the file.
  SplitNode split{.id = node.id,
                  .memory = memory,
                  .speed = speed_with(node.weight_speeds, model.quantisation),
                  .has_file = has_file,
                  .works = node.works};
  split.name = node.name;
  if (const auto own = node.own.find(model.content); own != node.own.end())
    split.as_host = split_model_of(own->second.shape, model.bytes, own->second.need);
  return split;
}

SplitModel split_model_of(const AllocationModel& model) { return split_model_of(model.shape, model.bytes, model.need); }

SplitModel split_model_of(const SplitModel& shape, std::uint64_t bytes, std::uint64_t need) {
  if (shape.layers == 0) return rough_split_model(bytes, need);
  auto split = shape;
  // The remaining need (the process) belongs to the host. So a model that no node can hold alone doesn't fit one node
  // by its layers either.
  const auto whole = split.layers * (split.layer_bytes + split.cache_bytes) + split.ends_bytes + split.compute_bytes;
  const auto besides = need - std::min(need, whole);
  split.ends_bytes += besides - std::min(besides, kHostBytes);  // a plan adds kHostBytes
  return split;
}

}  // namespace corral::mesh
