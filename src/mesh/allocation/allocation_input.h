// The input of an allocation: nodes, models and links as plain facts, from a catalog. Immutable values; safe on every
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "mesh/allocation/split_plan.h"
#include "mesh/catalog/catalog.h"

namespace corral::mesh {

// A model, or a share of one, in a node's memory.
struct HeldModel {
  enum class Use : std::uint8_t {
    hosted,  // its owner's
    lent,    // the mesh's, whole
    share,   // the mesh's, some layers of it; the host of a split holds a share too
  };
  ContentKey model;
  Use use = Use::lent;
  NodeId host;  // of a share
  std::uint64_t bytes = 0;
  std::uint64_t idle_ms = 0;  // since its last request; 0 while one runs, or while it loads
  bool draining = false;      // is being unloaded
  bool by_hand = false;       // an ordered group: not unloaded for other models, nor for idleness
};

// The needs of a model at one node by that node's own report, if they differ from the believed ones (believed.h).
struct OwnTerms {
  std::uint64_t need = 0;  // of memory
  SplitModel shape;        // with this node as host
};

struct AllocationNode {
  NodeId id;
  std::string name;
  Role role = Role::member;
  bool just_gone = false;   // its link went down a moment ago: it keeps its models, and gets nothing new
  bool recalled = false;    // its owner needs the memory
  MemoryHeadroom gpu, cpu;  // memory for a model there, by the device of the model
  std::uint64_t disk_free = 0;
  bool takes_copies = false;
  bool works = true;   // may hold layers for another host
  std::string engine;  // version of llama.cpp: the same at all nodes of a split
  // Measured, for layers as they are in the file. The speed of its own models isn't usable: their engine rearranges the
  // weights, some read only a part of them for each token (experts), and draft tokens let one pass give many tokens.
  std::vector<WeightSpeed> weight_speeds;
  std::vector<ContentKey> on_disk;
  std::map<ContentKey, OwnTerms> own;  // models on its disk with other settings there
  std::vector<HeldModel> holds;
  std::optional<NodeOrder> order;      // `assign NODE MODEL`, `--model X --join`
  std::vector<ContentKey> declines;    // failed to load or lost just now: other nodes may have them
  std::vector<ContentKey> gives_back;  // unloaded by order (`corral mesh unload`)
};

struct AllocationModel {
  ContentKey content;
  std::string name;
  std::uint64_t bytes = 0;   // of its files
  std::uint64_t need = 0;    // of memory, on one node; 0: unknown, because no node has the file
  bool gpu = false;          // runs on a GPU
  std::string quantisation;  // as in the files: "Q4_K_M"
  double per_hour = 0;       // requests, decayed, of all entry nodes together
  bool wanted = false;       // in the `--model` list of a node
  bool may_copy = false;     // some node offers copies
  bool may_download = false;
  SplitModel shape;                       // sizes of its layers, from nodes with the file; 0 layers: not reported
  std::vector<NodeId> split_over = {};    // ordered split: over these nodes, and no others (`--split`); sorted
  std::optional<NodeId> split_host = {};  // its host: the node that got the order
  std::vector<NodeId> copying = {};       // nodes that copy it by order of the allocation
  bool resting = false;                   // unloaded for idleness, and no request since
  bool unload_ordered = false;            // `corral mesh unload`
};

struct AllocationInput {
  std::vector<AllocationNode> nodes;  // reachable nodes, and nodes just gone; this one too
  std::vector<AllocationModel> models;
  LinkTable links;
  std::map<NodeId, std::string> away = {};  // names of members that aren't in `nodes`, for people
};

// A node that is away for less is still in the input.
inline constexpr Millis kJustGone{5'000};

// From all node states. Only this node's own links are known, so nodes with the same reach get the same result. `lost`:
// unreachable nodes to drop at once, because their processes have ended or nothing was received from them for long;
// sorted.
AllocationInput make_situation(const Catalog& catalog, MonoTime now, std::span<const NodeId> lost = {});
// Memory for the whole model at this node, with the node's own settings; 0: unknown.
std::uint64_t need_at(const AllocationNode& node, const AllocationModel& model);
// The most memory that a node could give one model for this device.
std::uint64_t max_headroom(const AllocationNode& node, bool gpu);
// Whether the node has the file, or may get it.
bool may_come_to(const AllocationNode& node, const AllocationModel& model);
// No node that has the file or may get it can hold the model alone, and one of them could host a split. By the total
// memory of nodes, not by what is free now: a model that fits on one node waits for it. False if its need is unknown.
bool needs_several(const AllocationInput& situation, const AllocationModel& model);
// From the sizes of its layers; an estimate if no node reported them.
SplitModel split_model_of(const AllocationModel& model);
SplitModel split_model_of(const SplitModel& shape, std::uint64_t bytes, std::uint64_t need);
// The node as a part of a split of the model.
SplitNode split_node_of(const AllocationNode& node, const AllocationModel& model, std::uint64_t memory, bool has_file);

}  // namespace corral::mesh
