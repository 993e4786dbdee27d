// What a node says of models that it holds together with others, and of what it was told to have. Plain values; safe on
// every thread.
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
  bool running = false;                 // its engine is there: it serves
  bool by_hand = false;                 // somebody has said so (`--split`)
  std::vector<GroupShare> shares = {};  // in the order of layers, the author's last
  std::uint64_t idle_ms = 0;            // since its last request; 0 while one runs
  double tokens_per_second = 0;         // predicted
  std::string refusal = {};             // why the last try came to nothing; empty: it didn't
  friend bool operator==(const GroupReport&, const GroupReport&) = default;
};

// Memory of the author's that another node, the host, has for layers of a model.
struct ShareReport {
  NodeId host;
  ContentKey model;
  std::uint64_t bytes = 0;
  bool reaping = false;  // is being ended
  friend bool operator==(const ShareReport&, const ShareReport&) = default;
};

// What somebody has told the author to have: this model; or, if there is none, nothing of the mesh's.
struct NodeOrder {
  std::optional<ContentKey> model;
  friend bool operator==(const NodeOrder&, const NodeOrder&) = default;
};

// Somebody wants this model over these nodes, hosted by one of them; without nodes: over whichever do.
struct SplitOrder {
  ContentKey model;
  std::vector<NodeId> nodes = {};  // sorted
  std::uint64_t stamp = 0;         // how new it is, see split_orders.h
  friend bool operator==(const SplitOrder&, const SplitOrder&) = default;
};

}  // namespace corral::mesh
