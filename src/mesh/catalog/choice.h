// Node selection: the node for one request. Only the request's entry node decides. Pure; safe on every thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mesh/catalog/catalog.h"

namespace corral::mesh {

// Better ones first.
enum class Rank : std::uint8_t {
  idle,     // resident, and the node can run one more request at full speed
  busy,     // resident
  loading,  // being loaded
  fits,     // on disk, and memory is free
  evicts,   // on disk, and the load evicts an idle model
  none,     // can't serve it, see Obstacle
};

enum class Obstacle : std::uint8_t {
  none,
  away,          // no link
  silent,        // no announcement of this epoch yet
  failed,        // excluded by the caller: it failed, or answered `not_here`
  full,          // already runs the most requests of this node
  draining,      // is unloading it
  no_memory,     // even with everything evicted
  memory_taken,  // by models that aren't idle
  lends_nothing,
  no_file,
};
std::string_view name_of(Rank rank);
std::string_view name_of(Obstacle obstacle);

// One node, for `why`.
struct Candidate {
  NodeId node;
  std::string node_name;  // for display
  Rank rank = Rank::none;
  Obstacle obstacle = Obstacle::none;
  std::uint64_t need = 0, have = 0;  // bytes of memory
  std::string text;                  // one sentence for people
};

struct ChoiceQuery {
  std::map<NodeId, std::string> excluded;     // and why: "it answered not_here"
  std::map<NodeId, std::uint32_t> in_flight;  // our requests at each node
  std::uint32_t max_in_flight = 32;
  std::optional<NodeId> host_of_conversation;  // the node of its last request, see RouteMemory
  std::optional<NodeId> recent_load;           // the node that loaded the model for us in the last 60 s
  bool own_too = false;                        // this node may be chosen
};

// What is short at the closest node: for 503 and Retry-After.
struct Shortage {
  Obstacle obstacle = Obstacle::away;
  NodeId node;
  std::uint64_t need = 0, have = 0;  // bytes; 0: memory isn't the obstacle
  std::string text;                  // one sentence for people
  std::chrono::seconds retry_after{0};
};

struct Choice {
  std::optional<NodeId> node;
  Rank rank = Rank::none;
  std::vector<Candidate> candidates;  // all nodes, best first
  std::optional<Shortage> shortage;   // if there is no node
};

// The rank decides. Then, for a model in memory: measured tokens/s, the queue, the round trip; for loads: the node of a
// recent load, the better device, measured tokens/s, and among equals a hash of model and node, so that all entry nodes
// choose the same one. If the host of the conversation has the model in memory, or loads it, it is selected.
Choice choose(const Catalog& catalog, const MeshModel& model, const ChoiceQuery& query);

}  // namespace corral::mesh
