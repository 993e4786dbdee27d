// Where a request goes, decided by the node that it came to, and only by it. Pure; safe on every thread.
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
  idle,     // resident, and a place is free
  busy,     // resident
  loading,  // on its way into memory
  fits,     // on disk, and memory is free
  evicts,   // on disk, and something idle has to go
  none,     // can't, see Obstacle
};

enum class Obstacle : std::uint8_t {
  none,
  away,          // no link
  silent,        // has said nothing yet in this life
  failed,        // excluded by the caller: it failed, or said `not_here`
  full,          // as many requests as one node gives another run there
  draining,      // is just giving it back
  no_memory,     // even with everything evicted
  memory_taken,  // by what isn't idle
  lends_nothing,
  no_file,
};
std::string_view name_of(Rank rank);
std::string_view name_of(Obstacle obstacle);

// One node, for `why`.
struct Candidate {
  NodeId node;
  std::string node_name;
  Rank rank = Rank::none;
  Obstacle obstacle = Obstacle::none;
  std::uint64_t need = 0, have = 0;  // bytes of memory
  std::string text;                  // one sentence for people
};

struct ChoiceQuery {
  std::map<NodeId, std::string> excluded;     // and why: "it said not_here"
  std::map<NodeId, std::uint32_t> in_flight;  // our requests at each node
  std::uint32_t max_in_flight = 32;
  std::optional<NodeId> host_of_conversation;  // where its last request went, see RouteMemory
  std::optional<NodeId> recent_load;           // where we had the model loaded in the last 60 s
  bool own_too = false;                        // this node may be chosen
};

// What is short, where least is: for 503 and Retry-After.
struct Shortage {
  Obstacle obstacle = Obstacle::away;
  NodeId node;
  std::uint64_t need = 0, have = 0;  // bytes; 0: not a matter of bytes
  std::string text;                  // one sentence for people
  std::chrono::seconds retry_after{0};
};

struct Choice {
  std::optional<NodeId> node;
  Rank rank = Rank::none;
  std::vector<Candidate> candidates;  // all nodes, best first
  std::optional<Shortage> shortage;   // when there is no node
};

// The rank decides. Then: for requests to a model in memory the host of the conversation, measured tokens/s, the queue,
// the round trip; for loads the node of a recent load, the better device, measured tokens/s, and among equals a hash of
// model and node, so that all entries choose the same one. The host of a conversation is left only when it can't.
Choice choose(const Catalog& catalog, const MeshModel& model, const ChoiceQuery& query);

}  // namespace corral::mesh
