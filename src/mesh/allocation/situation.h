// What an allocation is decided from: nodes, models and links as plain facts, read out of a catalog. Immutable values;
// safe on every thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "mesh/allocation/link_table.h"
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
};

// What somebody has told a node (`assign NODE MODEL`, `--model X --join`).
struct Order {
  std::optional<ContentKey> model;  // nothing: to have nothing of the mesh's
};

struct AllocationNode {
  NodeId id;
  std::string name;
  Role role = Role::member;
  bool just_gone = false;  // its link went down a moment ago: it keeps what it has, and gets nothing
  bool recalled = false;   // its owner wants the memory back
  Room gpu, cpu;           // what a model could have there, by the device that it wants
  std::uint64_t disk_free = 0;
  bool takes_copies = false;
  std::uint64_t speed = 0;  // weights per second, as measured with some model; 0: never
  std::vector<ContentKey> on_disk;
  std::vector<HeldModel> holds;
  std::optional<Order> told;
};

struct AllocationModel {
  ContentKey content;
  std::string name;
  std::uint64_t bytes = 0;  // of its files
  std::uint64_t need = 0;   // of memory, on one node; 0: nobody knows, as nobody has the file
  bool gpu = false;         // it wants to run on one
  double per_hour = 0;      // requests, decayed, of all entries together
  bool wished = false;      // somebody's `--model`
  bool may_copy = false;    // some node gives it to others
  bool may_download = false;
  bool split_told = false;   // somebody wants it over several nodes (`--split`)
  bool resting = false;      // was given back for idleness, and nobody has asked for it since
  bool unload_told = false;  // `corral mesh unload`
};

struct Situation {
  std::vector<AllocationNode> nodes;  // that can be reached, and those just gone; this one too
  std::vector<AllocationModel> models;
  LinkTable links;
};

// A model that runs over several nodes now, by the word of its host.
struct StandingGroup {
  ContentKey model;
  NodeId host;
  std::map<NodeId, std::uint64_t> shares;  // bytes, the host's too
  std::uint64_t idle_ms = 0;
  bool draining = false;
};

// What a catalog doesn't say.
struct AllocationNews {
  std::vector<StandingGroup> groups;
  std::set<NodeId> just_gone;
  std::set<NodeId> recalled;
  std::map<NodeId, Order> told;
  std::set<ContentKey> resting;
  std::set<ContentKey> unload_told;
  std::set<ContentKey> split_told;
};

Situation make_situation(const Catalog& catalog, const AllocationNews& news);

}  // namespace corral::mesh
