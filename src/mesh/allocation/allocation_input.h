// What an allocation is decided from: nodes, models and links as plain facts, read out of a catalog. Immutable values;
// safe on every thread.
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

// Something that a node has in memory.
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
  bool draining = false;      // is being given back
  bool by_hand = false;       // a group that somebody has ordered: it isn't given back for others, nor for idleness
};

// What a model takes at one node by that node's own word, where that isn't what is believed (believed.h).
struct OwnTerms {
  std::uint64_t need = 0;  // of memory
  SplitModel shape;        // where it hosts
};

struct AllocationNode {
  NodeId id;
  std::string name;
  Role role = Role::member;
  bool just_gone = false;   // its link went down a moment ago: it keeps what it has, and gets nothing
  bool recalled = false;    // its owner wants the memory back
  MemoryHeadroom gpu, cpu;  // what a model could have there, by the device that it wants
  std::uint64_t disk_free = 0;
  bool takes_copies = false;
  bool works = true;   // may hold layers for another host
  std::string engine;  // version of llama.cpp: a split wants the same everywhere
  // Of layers as files have them, as measured. What its models have shown says nothing of that: their engine rearranges
  // its own weights, some read a part of them for each token (experts), and guesses make many tokens of one pass.
  std::vector<WeightSpeed> weight_speeds;
  std::vector<ContentKey> on_disk;
  std::map<ContentKey, OwnTerms> own;  // of those on its disk that have other settings there
  std::vector<HeldModel> holds;
  std::optional<NodeOrder> told;       // `assign NODE MODEL`, `--model X --join`
  std::vector<ContentKey> declines;    // it couldn't load these just now, or lost them: others may have them
  std::vector<ContentKey> gives_back;  // it was told to (`corral mesh unload`)
};

struct AllocationModel {
  ContentKey content;
  std::string name;
  std::uint64_t bytes = 0;   // of its files
  std::uint64_t need = 0;    // of memory, on one node; 0: nobody knows, as nobody has the file
  bool gpu = false;          // it wants to run on one
  std::string quantisation;  // as files say: "Q4_K_M"
  double per_hour = 0;       // requests, decayed, of all entries together
  bool wished = false;       // somebody's `--model`
  bool may_copy = false;     // some node gives it to others
  bool may_download = false;
  SplitModel shape;                       // by its layers, as who has the file knows it; none: nobody has said so
  std::vector<NodeId> split_over = {};    // somebody wants it over these, and no others (`--split`); sorted
  std::optional<NodeId> split_host = {};  // hosted by this one, which was told
  std::vector<NodeId> copying = {};       // nodes to which the allocation has it copied
  bool resting = false;                   // was given back for idleness, and nobody has asked for it since
  bool unload_told = false;               // `corral mesh unload`
};

struct AllocationInput {
  std::vector<AllocationNode> nodes;  // that can be reached, and those just gone; this one too
  std::vector<AllocationModel> models;
  LinkTable links;
  std::map<NodeId, std::string> away = {};  // names of members that don't count now, for people
};

// Who is away for less is still counted with.
inline constexpr Millis kJustGone{5'000};

// By what all nodes say of themselves. Of links only this node's own are known, so nodes come to the same where they
// reach the same. `lost`: nodes that nobody need wait for once they can't be reached, as their processes are known to
// have ended, or as nothing was heard of them for long; sorted.
AllocationInput make_situation(const Catalog& catalog, MonoTime now, std::span<const NodeId> lost = {});
// Of memory, to have the model alone at this node; 0: nobody knows. A node goes by its own settings.
std::uint64_t need_at(const AllocationNode& node, const AllocationModel& model);
// The most that a node could give one model that wants this device.
std::uint64_t most_room(const AllocationNode& node, bool gpu);
// It has the file, or may get it.
bool may_come_to(const AllocationNode& node, const AllocationModel& model);
// Nobody can hold it alone who has the file or may get it, and one of those could host it. By all that nodes have, not
// by what is free just now: a model that fits somewhere waits for that. False where nobody knows what it needs.
bool needs_several(const AllocationInput& situation, const AllocationModel& model);
// By its layers; where nobody has said how they are, roughly.
SplitModel split_model_of(const AllocationModel& model);
SplitModel split_model_of(const SplitModel& shape, std::uint64_t bytes, std::uint64_t need);
// As a part of a split of it.
SplitNode split_node_of(const AllocationNode& node, const AllocationModel& model, std::uint64_t memory, bool has_file);

}  // namespace corral::mesh
