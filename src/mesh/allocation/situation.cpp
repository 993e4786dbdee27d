#include "mesh/allocation/situation.h"

#include <algorithm>

namespace corral::mesh {
namespace {

Room room_on(const KnownNode& node, Device device) {
  ModelOnDisk any;
  any.device = device;
  return room_for(node, any);
}

// From the fastest model that was ever measured there: each token reads all weights once.
std::uint64_t measured_speed(const Statement& said) {
  double most = 0;
  for (const auto& model : said.models)
    most = std::max(most, model.tokens_per_second * static_cast<double>(model.bytes));
  return static_cast<std::uint64_t>(std::min(most, 1e15));
}

class Reader {
 public:
  Reader(const Catalog& catalog, const AllocationNews& news) : catalog_(catalog), news_(news) {}

  Situation read() {
    for (const auto& node : catalog_.nodes()) add(node);
    for (const auto& model : catalog_.models()) add(model);
    for (const auto& group : news_.groups) add(group);
    add_demand();
    situation_.links = LinkTable(std::move(links_));
    return std::move(situation_);
  }

 private:
  void add(const KnownNode& known) {
    const bool just_gone = news_.just_gone.contains(known.id);
    if (!known.said || (!is_routable(known.reach) && !just_gone)) return;
    const auto& said = *known.said;
    node_places_.emplace(known.id, situation_.nodes.size());
    auto& node = situation_.nodes.emplace_back();
    node.id = known.id;
    node.name = said.name.empty() ? short_text(known.id) : said.name;
    node.role = said.role;
    node.just_gone = just_gone;
    node.recalled = news_.recalled.contains(known.id);
    // Of itself a node knows all its memory; the mesh has what it lends.
    auto as_others_see = known;
    as_others_see.reach = Reach::linked;
    node.gpu = room_on(as_others_see, Device::gpu);
    node.cpu = room_on(as_others_see, Device::cpu);
    node.disk_free = said.disk_free;
    node.takes_copies = said.takes_copies;
    node.speed = measured_speed(said);
    if (const auto told = news_.told.find(known.id); told != news_.told.end()) node.told = told->second;
    for (const auto& wanted : said.wants) wishes_.insert(wanted.name);
    // A catalog has no copies of nodes that can't be reached.
    if (!is_routable(known.reach)) {
      for (const auto& model : said.models) {
        const auto served = std::ranges::find(said.serving, model.name, &ServedModel::name);
        put(node, content_key(model), served == said.serving.end() ? nullptr : &*served);
      }
    }
    for (const auto& link : said.links)
      links_.push_back({known.id, link.to, link.round_trip_us, link.bytes_per_second});
  }

  void add(const MeshModel& known) {
    model_places_.emplace(known.content, situation_.models.size());
    auto& model = situation_.models.emplace_back();
    model.content = known.content;
    model.bytes = known.bytes;
    model.need = known.facts ? memory_need(*known.facts) : 0;
    model.wished = !known.wanted_by.empty();
    model.may_download = !known.source.empty();
    model.split_told = news_.split_told.contains(known.content);
    model.resting = news_.resting.contains(known.content);
    model.unload_told = news_.unload_told.contains(known.content);
    for (const auto& copy : known.copies) {
      model.need = std::max(model.need, memory_need(*copy.model));
      model.gpu = model.gpu || has(copy.model->device, Device::gpu);
      model.may_copy = model.may_copy || copy.model->may_copy;
      add(known, copy);
    }
    // Names and what they mean differ from node to node; here all have to use the same.
    model.name = known.plain_name;
    for (const auto& copy : known.copies) model.name = std::min(model.name, copy.model->name);
    model.wished = model.wished || is_wished(known);
  }

  bool is_wished(const MeshModel& model) const {
    return wishes_.contains(model.plain_name) ||
           std::ranges::any_of(model.copies, [&](const auto& copy) { return wishes_.contains(copy.model->name); });
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

  // What its host says counts; that the host has the model in memory is a part of it.
  void add(const StandingGroup& group) {
    for (const auto& [id, bytes] : group.shares) {
      const auto place = node_places_.find(id);
      if (place == node_places_.end()) continue;
      auto& holds = situation_.nodes[place->second].holds;
      std::erase_if(holds, [&](const auto& held) { return held.model == group.model; });
      holds.push_back({group.model, HeldModel::Use::share, group.host, bytes, group.idle_ms, group.draining});
    }
  }

  // An entry asks by its own names: first of all for what it has itself.
  AllocationModel* meant_by(const Statement& entry, const std::string& name) {
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
      if (!node.said || !node_places_.contains(node.id)) continue;
      for (const auto& demand : node.said->demand) {
        if (auto* model = meant_by(*node.said, demand.name)) model->per_hour += demand.per_hour;
      }
    }
  }

  const Catalog& catalog_;
  const AllocationNews& news_;
  Situation situation_;
  std::vector<LinkFacts> links_;
  std::map<NodeId, std::size_t> node_places_;
  std::map<ContentKey, std::size_t> model_places_;
  std::set<std::string> wishes_;
  std::map<std::string, std::set<ContentKey>> by_name_;
};

}  // namespace

Situation make_situation(const Catalog& catalog, const AllocationNews& news) { return Reader(catalog, news).read(); }

}  // namespace corral::mesh
