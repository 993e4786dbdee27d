// Which models there are in the mesh, and where: computed by each node from what all say, the same for any order of
// its input. There is no authority. Pure; a catalog is immutable and safe on every thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "mesh/catalog/content_key.h"
#include "mesh/catalog/node_state.h"

namespace corral::mesh {

// How this node gets to another. Only the link says it; statements never do.
enum class Reach : std::uint8_t {
  own,     // it is this node
  linked,  // its link is up
  away,    // not at all
};
constexpr bool is_routable(Reach reach) { return reach != Reach::away; }

struct KnownNode {
  NodeId id;
  Reach reach = Reach::away;
  std::optional<Millis> round_trip;
  std::shared_ptr<const NodeState> said;  // its newest one of this life; nullptr: none yet
  // What it said last in an earlier life, as long as it hasn't said in this one which models it has: their names are
  // known, and nothing else of it counts.
  std::shared_ptr<const NodeState> before = {};
  MonoTime since = {};  // that its reach is as it is; of this node without a meaning
  std::optional<MonoTime> expected_until =
      {};  // nothing is known of its models, and it may speak any moment until then
};

enum class ModelStatus : std::uint8_t {
  ready,           // somebody serves it
  loading,         // somebody loads it
  unloaded,        // on a disk, and there is a node that could load it
  needs_capacity,  // on a disk, and no node has the memory
  downloadable,    // on no disk; somebody wants it and knows from where
};
std::string_view name_of(ModelStatus status);

ContentKey content_key(const ModelOnDisk& model);
std::string hash8(const ContentKey& key);  // the first eight hexadecimal digits

// A model at one node. The pointers live as long as the catalog.
struct ModelCopy {
  const KnownNode* node = nullptr;
  const ModelOnDisk* model = nullptr;
  const ServedModel* serving = nullptr;  // nullptr: not in memory
};

struct MeshModel {
  std::string name;                  // its plain name, or name@hash8 where the plain one means several contents
  std::string plain_name;            // as its files are called
  std::vector<std::string> aliases;  // other names that find it, sorted
  ContentKey content;
  std::string source;  // where it can be had; empty: only from its nodes
  std::uint64_t bytes = 0;
  ModelType type = ModelType::llm;
  ModelStatus status = ModelStatus::unloaded;
  std::vector<ModelCopy> copies;       // at routable nodes, sorted by node; empty: downloadable
  std::optional<NodeId> host;          // of those that serve it the one with the most memory
  const ModelOnDisk* facts = nullptr;  // of this node's own copy, else of the first; nullptr: downloadable
  std::vector<NodeId> wanted_by;       // sorted

  bool is_here() const;  // this node has it on disk
};

class Catalog {
 public:
  // Sorted by name. Every name is there once.
  std::span<const MeshModel> models() const { return models_; }
  std::span<const KnownNode> nodes() const { return nodes_; }  // sorted by id, those that are away too
  const KnownNode* node(const NodeId& id) const;               // nullptr: not known

  // This node's own names first, in whatever spelling of capitals; then name@hash8; then names, aliases, and both in
  // any spelling. Without a model that somebody who can be reached has, and without `choices`: nobody knows the name,
  // or only nodes do that are away, or that are just starting: see `away`.
  struct Found {
    const MeshModel* model = nullptr;
    std::vector<std::string> choices;  // the name means several contents: ask for one of these
    std::vector<NodeId> away;          // nodes that have it, as they said last, and can't serve it now; sorted
  };
  Found find(std::string_view name) const;

 private:
  friend class CatalogMaker;
  // What a name means to somebody.
  struct Meaning {
    std::string spelling;
    bool alias = false;
    bool here = false;
    ContentKey content;
    NodeId node;
    bool wish = false;  // the node has no file of that name
  };
  std::vector<const Meaning*> meanings_of(std::string_view name) const;
  std::vector<const Meaning*> hashed_meanings_of(std::string_view name) const;

  std::vector<KnownNode> nodes_;
  std::vector<MeshModel> models_;
  std::multimap<std::string, Meaning> meanings_;  // by the name in small letters
  std::map<ContentKey, std::size_t> by_content_;  // place in models_
};

// A name that means different contents: the one on this node's disk where there is one; else none of them, and find()
// lists them. Nodes that are away give no model, but their names count: who leaves never changes silently what a name
// means. A node that is thrown out of the mesh isn't known any more, and frees its names.
// A copy whose hash isn't known yet counts as the content that others have under the same name with the same size, if
// there is exactly one.
std::shared_ptr<const Catalog> make_catalog(std::vector<KnownNode> nodes);

// Memory that a model could have at a node, by what the node says: its kind of device, or all where it has none of that
// kind. A node's own loads aren't bounded by what it lends.
struct MemoryHeadroom {
  std::uint64_t now = 0;   // free
  std::uint64_t idle = 0;  // when models that are idle go
  std::uint64_t most = 0;  // when everything goes
};
MemoryHeadroom headroom_for(const KnownNode& node, const ModelOnDisk& model);
// What it takes, as far as its node knows.
std::uint64_t memory_need(const ModelOnDisk& model);
// Of a disk no more than this goes for copies that the allocation orders.
constexpr std::uint64_t disk_for_copies(std::uint64_t free) { return free / 2; }

}  // namespace corral::mesh
