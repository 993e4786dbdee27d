#include "mesh/catalog/catalog_maker.h"

#include <algorithm>
#include <tuple>

#include "base/secret.h"
#include "mesh/identity/bytes.h"

namespace corral::mesh {
namespace {

// The most names of another node that differ in case only. More are skipped, because each lookup checks all of them.
constexpr std::size_t kMaxSpellings = 8;

std::uint64_t total_memory(const KnownNode& node) {
  std::uint64_t sum = 0;
  for (const auto& memory : node.node_state->memory) sum += memory.total;
  return sum;
}

std::string name_of(const KnownNode& node) {
  for (const auto& state : {node.node_state, node.before})
    if (state && !state->name.empty()) return state->name;
  return {};
}

}  // namespace

CatalogMaker::CatalogMaker(std::vector<KnownNode> nodes) {
  std::ranges::sort(nodes,
                    [](const auto& a, const auto& b) { return std::tie(a.id, a.reach) < std::tie(b.id, b.reach); });
  const auto rest = std::ranges::unique(nodes, {}, &KnownNode::id);
  nodes.erase(rest.begin(), rest.end());
  catalog_->nodes_ = std::move(nodes);
  for (const auto& node : catalog_->nodes_) catalog_->names_.set(node.id, name_of(node));
}

std::shared_ptr<const Catalog> CatalogMaker::make() {
  collect();
  join_pending();
  note_meanings();
  std::map<ContentKey, std::vector<const Claim*>> by_content;
  for (const auto& claim : claims_) {
    if (claim.now && is_routable(claim.node->reach)) by_content[claim.content].push_back(&claim);
  }
  for (auto& [content, claims] : by_content) make_model(content, std::move(claims));
  make_wanted();
  give_names();
  return std::move(catalog_);
}

void CatalogMaker::collect() {
  for (const auto& node : catalog_->nodes_) {
    const bool now = !node.before;
    const auto* words = now ? node.node_state.get() : node.before.get();
    if (!words) continue;
    std::map<std::string, std::size_t> spellings;
    for (const auto& model : words->models) {
      if (node.reach != Reach::own && ++spellings[small(model.name)] > kMaxSpellings) continue;
      const auto served = std::ranges::find(words->serving, model.name, &ServedModel::name);
      const auto* serving = now && served != words->serving.end() ? &*served : nullptr;
      claims_.push_back({&node, &model, serving, content_key(model), now});
    }
  }
}

void CatalogMaker::join_pending() {
  using Looks = std::pair<std::string_view, std::uint64_t>;
  std::map<Looks, std::set<ContentKey>> hashed;
  for (const auto& claim : claims_) {
    if (claim.model->hash) hashed[{claim.model->name, claim.model->bytes}].insert(claim.content);
  }
  for (auto& claim : claims_) {
    if (claim.model->hash) continue;
    const auto same = hashed.find({claim.model->name, claim.model->bytes});
    if (same != hashed.end() && same->second.size() == 1) claim.content = *same->second.begin();
  }
}

void CatalogMaker::note_meanings() {
  std::set<std::pair<NodeId, std::string_view>> seen;  // an alias means one model of a node
  std::map<std::pair<NodeId, std::string>, std::size_t> spellings;
  for (const auto& claim : claims_) {
    const bool here = claim.node->reach == Reach::own;
    const auto note = [&](const std::string& name, bool alias) {
      auto key = small(name);
      if (alias && !here && ++spellings[{claim.node->id, key}] > kMaxSpellings) return;
      catalog_->meanings_.emplace(std::move(key), Catalog::Meaning{name, alias, here, claim.content, claim.node->id});
    };
    note(claim.model->name, false);
    for (const auto& alias : claim.model->aliases) {
      if (seen.emplace(claim.node->id, alias).second) note(alias, true);
    }
  }
}

void CatalogMaker::make_model(const ContentKey& content, std::vector<const Claim*> claims) {
  // A node that has the same content twice counts once: in memory, else the first by name.
  std::ranges::sort(claims, [](const Claim* a, const Claim* b) {
    return std::tuple(a->node->id, a->serving == nullptr, a->model->name) <
           std::tuple(b->node->id, b->serving == nullptr, b->model->name);
  });
  MeshModel model;
  model.content = content;
  std::set<std::string> names;
  const ModelCopy* own = nullptr;
  for (const auto* claim : claims) {
    names.insert(claim->model->name);
    names.insert(claim->model->aliases.begin(), claim->model->aliases.end());
    if (!model.copies.empty() && model.copies.back().node == claim->node) continue;
    model.copies.push_back({claim->node, claim->model, claim->serving});
  }
  for (const auto& copy : model.copies) {
    if (copy.node->reach == Reach::own) own = &copy;
    if (model.source.empty()) model.source = copy.model->checkpoint;
  }
  if (own && !own->model->checkpoint.empty()) model.source = own->model->checkpoint;
  const auto first = std::ranges::min(model.copies, {}, [](const auto& copy) { return copy.model->name; });
  model.facts = own ? own->model : first.model;
  model.plain_name = model.facts->name;
  names.erase(model.plain_name);
  model.aliases.assign(names.begin(), names.end());
  model.bytes = model.facts->bytes;
  model.type = model.facts->type;

  const auto elect = [&](ServingState state) {
    const KnownNode* best = nullptr;
    for (const auto& copy : model.copies) {
      if (!copy.serving || copy.serving->state != state) continue;
      // Of equal ones the highest id, as in split plans; copies are sorted by it.
      if (!best || total_memory(*copy.node) >= total_memory(*best)) best = copy.node;
    }
    return best;
  };
  const auto* host = elect(ServingState::ready);
  if (!host) host = elect(ServingState::loading);
  if (host) model.host = host->id;
  model.status = status_of(model);
  catalog_->models_.push_back(std::move(model));
}

ModelStatus CatalogMaker::status_of(const MeshModel& model) const {
  const auto any = [&](ServingState state) {
    return std::ranges::any_of(model.copies,
                               [&](const auto& copy) { return copy.serving && copy.serving->state == state; });
  };
  if (any(ServingState::ready)) return ModelStatus::ready;
  if (any(ServingState::loading)) return ModelStatus::loading;
  bool given = false;
  for (const auto& copy : model.copies) {
    given = given || copy.model->may_copy;
    if (memory_need(*copy.model) <= headroom_for(*copy.node, *copy.model).total) return ModelStatus::unloaded;
  }
  for (const auto& node : catalog_->nodes_) {
    const bool takes = given && is_routable(node.reach) && node.node_state && node.node_state->takes_copies;
    if (takes && disk_for_copies(node.node_state->disk_free) >= model.bytes &&
        memory_need(*model.facts) <= headroom_for(node, *model.facts).total)
      return ModelStatus::unloaded;
  }
  return ModelStatus::needs_capacity;
}

// A wanted model is listed only if no reachable node has a file of that name.
void CatalogMaker::make_wanted() {
  std::map<std::pair<std::string, std::string>, std::vector<NodeId>> wants;
  for (const auto& node : catalog_->nodes_) {
    if (!node.node_state || !is_routable(node.reach)) continue;
    for (const auto& wanted : node.node_state->wants) wants[{wanted.name, wanted.source}].push_back(node.id);
  }
  std::set<ContentKey> there;
  for (const auto& model : catalog_->models_) there.insert(model.content);
  std::vector<Catalog::Meaning> meanings;
  for (auto& [what, nodes] : wants) {
    const auto& [name, source] = what;
    std::set<ContentKey> contents;
    for (const auto* meaning : catalog_->meanings_of(name)) contents.insert(meaning->content);
    const auto is_there = [&](const ContentKey& content) { return there.contains(content); };
    if (contents.size() > 1 || std::ranges::any_of(contents, is_there)) continue;
    MeshModel model;
    std::string body;
    ByteWriter(body).sized<std::uint16_t>(name).raw(source);
    model.content =
        contents.empty() ? ContentKey{tagged_hash("content that is wanted", body), true} : *contents.begin();
    model.plain_name = name;
    model.source = source;
    model.status = ModelStatus::downloadable;
    model.wanted_by = std::move(nodes);
    // Added after the loop, so that two wanted models of one name don't hide each other.
    if (contents.empty()) meanings.push_back({name, false, false, model.content, model.wanted_by.front(), true});
    catalog_->models_.push_back(std::move(model));
  }
  for (auto& meaning : meanings) catalog_->meanings_.emplace(small(meaning.spelling), std::move(meaning));
}

void CatalogMaker::give_names() {
  auto& models = catalog_->models_;
  for (auto& model : models) {
    const auto meanings = catalog_->meanings_of(model.plain_name);
    const bool plain =
        (model.is_here() || !looks_hashed(model.plain_name)) &&
        std::ranges::all_of(meanings, [&](const auto* meaning) { return meaning->content == model.content; });
    model.name = plain ? model.plain_name : model.plain_name + "@" + hash8(model.content);
  }
  // A liar can choose a hash that begins like another content's hash.
  std::map<std::string, std::size_t> count;
  for (const auto& model : models) ++count[model.name];
  for (auto& model : models) {
    if (count[model.name] > 1 && !model.is_here()) model.name = model.plain_name + "@" + to_hex(model.content.bytes);
  }
  std::ranges::sort(
      models, [](const auto& a, const auto& b) { return std::tie(a.name, a.content) < std::tie(b.name, b.content); });
  const auto rest = std::ranges::unique(models, {}, &MeshModel::name);
  models.erase(rest.begin(), rest.end());
  for (std::size_t i = 0; i < models.size(); ++i) catalog_->by_content_.emplace(models[i].content, i);
}

}  // namespace corral::mesh
