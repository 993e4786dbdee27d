// The models of the mesh and their nodes. Every node computes the catalog from all node states, with the same result
// for any order of its input. There is no authority. Pure; a catalog is immutable and safe on every thread.
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
#include "mesh/catalog/node_names.h"
#include "mesh/catalog/node_state.h"

namespace corral::mesh {

// How this node reaches another one. Only links decide it, never announcements.
enum class Reach : std::uint8_t {
  own,     // this node
  linked,  // its link is up
  away,    // unreachable
};
constexpr bool is_routable(Reach reach) { return reach != Reach::away; }

struct KnownNode {
  NodeId id;
  Reach reach = Reach::away;
  std::optional<Millis> round_trip;
  std::shared_ptr<const NodeState> node_state;  // its newest state of this epoch; nullptr: none yet
  // Its last state of an earlier epoch, until it announces its models in this one. Only the names of the models are
  // used.
  std::shared_ptr<const NodeState> before = {};
  MonoTime since = {};                          // start of its present reach; unused for this node
  std::optional<MonoTime> expected_until = {};  // its models are unknown, and it may announce them until then
};

enum class ModelStatus : std::uint8_t {
  ready,           // a node serves it
  loading,         // a node loads it
  unloaded,        // on a disk, and a node could load it
  needs_capacity,  // on a disk, and no node has enough memory
  downloadable,    // on no disk; a node's `mesh_models` lists it
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
  std::string name;                  // its plain name, or name@hash8 if the plain one means several contents
  std::string plain_name;            // the name of its files
  std::vector<std::string> aliases;  // other names that find it, sorted
  ContentKey content;
  std::string source;  // "org/repo:QUANT" of the hub; empty: only its nodes have it
  std::uint64_t bytes = 0;
  ModelType type = ModelType::llm;
  ModelStatus status = ModelStatus::unloaded;
  std::vector<ModelCopy> copies;       // at routable nodes, sorted by node; empty: downloadable
  std::optional<NodeId> host;          // of the nodes that serve it the one with the most memory
  const ModelOnDisk* facts = nullptr;  // of this node's own copy, else of the first one by name; nullptr: downloadable
  std::vector<NodeId> wanted_by;       // sorted

  bool is_here() const;  // this node has it on disk
};

class Catalog {
 public:
  // Sorted by name; names are unique.
  std::span<const MeshModel> models() const { return models_; }
  std::span<const KnownNode> nodes() const { return nodes_; }  // sorted by id, including nodes that are away
  const KnownNode* node(const NodeId& id) const;               // nullptr: not known
  // Of all nodes; a node that restarted has its last name until it announces itself.
  const NodeNames& names() const { return names_; }

  // Looks for this node's own names first, in any case; then name@hash8; then names, aliases, and both in any case. If
  // there is no model at a reachable node and no `choices`, the name is unknown, or known only at nodes that are away
  // or just starting: see `away`.
  struct Found {
    const MeshModel* model = nullptr;
    std::vector<std::string> choices;  // the name means several contents: use one of these names
    std::vector<NodeId> away;          // nodes that had it by their last announcement, and can't serve it now; sorted
  };
  Found find(std::string_view name) const;

 private:
  friend class CatalogMaker;
  // The meaning of a name at one node.
  struct Meaning {
    std::string spelling;
    bool alias = false;
    bool here = false;
    ContentKey content;
    NodeId node;
    bool wanted = false;  // the node has no file of that name
  };
  std::vector<const Meaning*> meanings_of(std::string_view name) const;
  std::vector<const Meaning*> hashed_meanings_of(std::string_view name) const;

  std::vector<KnownNode> nodes_;
  NodeNames names_;
  std::vector<MeshModel> models_;
  std::multimap<std::string, Meaning> meanings_;  // by the name in small letters
  std::map<ContentKey, std::size_t> by_content_;  // index in models_
};

// A name with different contents means the one on this node's disk. If there is none it means none of them, and find()
// lists them. Nodes that are away add no models, but their names remain, so that no departure silently changes the
// meaning of a name. Revoking a node removes it, and frees its names. A copy without a hash has the content of other
// copies with the same name and size, if that is exactly one content.
std::shared_ptr<const Catalog> make_catalog(std::vector<KnownNode> nodes);

// Memory for a model at a node, by the node's state: memory of the model's kind of device, or all if the node has none
// of that kind. The lent amount doesn't limit a node's own loads.
struct MemoryHeadroom {
  std::uint64_t now = 0;    // free
  std::uint64_t idle = 0;   // after evicting idle models
  std::uint64_t total = 0;  // after evicting all models
};
MemoryHeadroom headroom_for(const KnownNode& node, const ModelOnDisk& model);
// The memory that the model needs, as far as its node knows.
std::uint64_t memory_need(const ModelOnDisk& model);
// The most disk space for copies that the allocation orders.
constexpr std::uint64_t disk_for_copies(std::uint64_t free) { return free / 2; }

}  // namespace corral::mesh
