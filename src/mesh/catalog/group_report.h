// Parts of a node state: models that the node holds together with others, and its orders. Plain values; safe on every
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/catalog/content_key.h"
#include "mesh/identity/keys.h"

namespace corral::mesh {

enum class GroupStage : std::uint8_t { waiting = 1, claiming = 2, standing = 3, draining = 4, stopping = 5 };
std::string_view name_of(GroupStage stage);

struct GroupShare {
  NodeId node;
  std::uint32_t layers = 0;
  std::uint64_t bytes = 0;  // of memory
  friend bool operator==(const GroupShare&, const GroupShare&) = default;
};

// A model that the author hosts over several nodes, or is about to.
struct GroupReport {
  ContentKey model;
  GroupStage stage = GroupStage::waiting;
  bool running = false;                 // its engine runs: it serves
  bool by_hand = false;                 // ordered by a user (`--split`)
  std::vector<GroupShare> shares = {};  // in the order of layers, the author's last
  std::uint64_t idle_ms = 0;            // since its last request; 0 while one runs
  double tokens_per_second = 0;         // predicted
  std::string refusal = {};             // why the last try failed; empty: it didn't
  friend bool operator==(const GroupReport&, const GroupReport&) = default;
};

// Memory of the author, granted to another node, the host, for layers of a model.
struct ShareReport {
  NodeId host;
  ContentKey model;
  std::uint64_t bytes = 0;
  bool reaping = false;  // being freed
  friend bool operator==(const ShareReport&, const ShareReport&) = default;
};

// An order for the author: have this model; without a model: have no model of the mesh.
struct NodeOrder {
  std::optional<ContentKey> model;
  friend bool operator==(const NodeOrder&, const NodeOrder&) = default;
};

// An order: split this model over these nodes, one of which hosts it; without nodes: over any nodes.
struct SplitOrder {
  ContentKey model;
  std::vector<NodeId> nodes = {};  // sorted
  std::uint64_t stamp = 0;         // how new it is, see split_orders.h
  friend bool operator==(const SplitOrder&, const SplitOrder&) = default;
};

}  // namespace corral::mesh
