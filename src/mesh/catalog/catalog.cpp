#include "mesh/catalog/catalog.h"

#include <algorithm>
#include <set>

#include "base/secret.h"
#include "mesh/catalog/catalog_maker.h"
#include "mesh/identity/bytes.h"

namespace corral::mesh {
namespace {

constexpr std::size_t kHashDigits = 8;

std::string folded(std::string_view name) {
  std::string small(name);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

// "name@0123abcd…" as its two parts; an empty hash for any other name.
std::pair<std::string_view, std::string_view> split_hash(std::string_view name) {
  const auto at = name.rfind('@');
  if (at == std::string_view::npos) return {name, {}};
  const auto hash = name.substr(at + 1);
  const bool hex = hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!hex || hash.size() < kHashDigits || hash.size() > 2 * sizeof(Sha256)) return {name, {}};
  return {name.substr(0, at), hash};
}

}  // namespace

std::string_view name_of(ModelStatus status) {
  switch (status) {
    case ModelStatus::ready:
      return "ready";
    case ModelStatus::loading:
      return "loading";
    case ModelStatus::unloaded:
      return "unloaded";
    case ModelStatus::needs_capacity:
      return "needs_capacity";
    case ModelStatus::downloadable:
      break;
  }
  return "downloadable";
}

ContentKey content_key(const ModelOnDisk& model) {
  if (model.hash) return {*model.hash, false};
  std::string body;
  ByteWriter(body).number<std::uint64_t>(model.bytes).raw(model.name);
  return {tagged_hash("content that isn't hashed yet", body), true};
}

std::string hash8(const ContentKey& key) { return to_hex(key.bytes).substr(0, kHashDigits); }

bool MeshModel::is_here() const {
  return std::ranges::any_of(copies, [](const auto& copy) { return copy.node->reach == Reach::own; });
}

const KnownNode* Catalog::node(const NodeId& id) const {
  const auto found = std::ranges::lower_bound(nodes_, id, {}, &KnownNode::id);
  return found == nodes_.end() || found->id != id ? nullptr : &*found;
}

std::vector<const Catalog::Meaning*> Catalog::hashed_meanings_of(std::string_view name) const {
  std::vector<const Meaning*> found;
  const auto [plain, hash] = split_hash(name);
  if (hash.empty()) return found;
  const auto [first, last] = meanings_.equal_range(folded(plain));
  for (auto at = first; at != last; ++at) {
    if (to_hex(at->second.content.bytes).starts_with(hash)) found.push_back(&at->second);
  }
  return found;
}

std::vector<const Catalog::Meaning*> Catalog::meanings_of(std::string_view name) const {
  const auto [first, last] = meanings_.equal_range(folded(name));
  const auto tier = [&](auto&& wanted) {
    std::vector<const Meaning*> found;
    for (auto at = first; at != last; ++at) {
      if (wanted(at->second)) found.push_back(&at->second);
    }
    return found;
  };
  for (const bool here : {true, false}) {
    for (const bool exact : {true, false}) {
      for (const bool alias : {false, true}) {
        auto found = tier([&](const Meaning& meaning) {
          return meaning.here == here && meaning.alias == alias && (!exact || meaning.spelling == name);
        });
        if (!found.empty()) return found;
      }
    }
    if (!here) break;
    if (auto hashed = hashed_meanings_of(name); !hashed.empty()) return hashed;
  }
  return {};
}

Catalog::Found Catalog::find(std::string_view name) const {
  std::set<ContentKey> contents;
  std::set<NodeId> nodes;
  const auto meanings = meanings_of(name);
  for (const auto* meaning : meanings) {
    contents.insert(meaning->content);
    if (!meaning->wanted) nodes.insert(meaning->node);
  }
  Found found;
  const auto model_of = [&](const ContentKey& content) -> const MeshModel* {
    const auto place = by_content_.find(content);
    return place == by_content_.end() ? nullptr : &models_[place->second];
  };
  if (contents.size() == 1) found.model = model_of(*contents.begin());
  if (!found.model && std::ranges::none_of(contents, [&](const auto& content) { return model_of(content); })) {
    found.away.assign(nodes.begin(), nodes.end());
    return found;
  }
  if (found.model) {
    if (found.model->copies.empty()) found.away.assign(nodes.begin(), nodes.end());
    return found;
  }
  for (const auto& content : contents) {
    const auto* model = model_of(content);
    const auto meaning = std::ranges::find(meanings, content, [](const auto* one) { return one->content; });
    found.choices.push_back(model ? model->name : (*meaning)->spelling + "@" + hash8(content));
  }
  std::ranges::sort(found.choices);
  return found;
}

std::shared_ptr<const Catalog> make_catalog(std::vector<KnownNode> nodes) {
  return CatalogMaker(std::move(nodes)).make();
}

std::string CatalogMaker::small(std::string_view name) { return folded(name); }
bool CatalogMaker::looks_hashed(std::string_view name) { return !split_hash(name).second.empty(); }

std::uint64_t memory_need(const ModelOnDisk& model) { return std::max(model.predicted, model.bytes); }

MemoryHeadroom headroom_for(const KnownNode& node, const ModelOnDisk& model) {
  MemoryHeadroom room;
  if (!node.node_state) return room;
  const bool own = node.reach == Reach::own;
  if (node.node_state->role == Role::client && !own) return room;
  const bool wants_gpu = has(model.device, Device::gpu);
  const bool matched =
      std::ranges::any_of(node.node_state->memory, [&](const auto& memory) { return memory.gpu == wants_gpu; });
  for (const auto& memory : node.node_state->memory) {
    if (matched && memory.gpu != wants_gpu) continue;
    const auto limit = own ? memory.total : std::min(memory.lent, memory.total);
    room.now += std::min(memory.free, limit);
    room.idle += std::min(memory.free + memory.evictable, limit);
    room.total += limit;
  }
  return room;
}

}  // namespace corral::mesh
