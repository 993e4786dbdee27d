// Split plan: how the layers of a model that no node can hold alone are divided over several nodes, and the predicted
// speed. Pure, the same result for any order of its input; safe on every thread. All sizes are in bytes.
//
// One node is the host: it has the file, reads it, sends the others their layers, and computes last. Each token passes
// through all nodes in turn, and the results of each come back to the host. So
//
//   time of a token = sum of (weights of a share ÷ speed of its node's memory)
//                     + sum over workers of (2 round trips + kTurnMillis)
//
// and more nodes never make a model faster (measured: docs/modules/allocation.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mesh/allocation/link_table.h"

namespace corral::mesh {

inline constexpr double kTurnMillis = 2.5;  // a worker's turn besides its layers and the network
inline constexpr std::uint32_t kMaxSplitLayers = 4096;
// Larger sizes of memory count as this, so that sums don't overflow; orders with larger ones are refused.
inline constexpr std::uint64_t kMaxPlannedBytes = std::uint64_t{1} << 50;
inline constexpr std::uint64_t kHostBytes = 40'000'000;  // an engine's libraries and heaps, at the host

// The sizes of a model that a split needs.
struct SplitModel {
  std::uint32_t layers = 0;
  std::uint64_t layer_bytes = 0;    // weights of a layer
  std::uint64_t cache_bytes = 0;    // KV cache of a layer, at `context`
  std::uint64_t ends_bytes = 0;     // embeddings and output: weights that stay with the host
  std::uint64_t compute_bytes = 0;  // buffers that each share needs besides
  std::uint64_t context = 0;        // smallest context, in tokens; 0: the engine's initial context
  std::uint64_t max_context = 0;    // largest context, if there is memory for it; at most `context`: no larger one
  friend bool operator==(const SplitModel&, const SplitModel&) = default;
};
// A model without reported layer sizes: `bytes` of files, `need` of memory on one node. Treated as 32 equal layers, the
// ends as one more, the buffers as a thirty-second of all.
SplitModel rough_split_model(std::uint64_t bytes, std::uint64_t need);

struct SplitNode {
  NodeId id;
  std::uint64_t memory = 0;  // for the split
  std::uint64_t speed = 0;   // bytes of weights that it computes in a second, for one request; 0: unknown
  bool has_file = false;
  bool works = true;                       // may hold layers for another host
  std::optional<SplitModel> as_host = {};  // the model with its own settings, if it hosts; none: as at all nodes
  std::string name = {};                   // for display
};

struct SplitQuery {
  SplitModel model;
  std::vector<SplitNode> nodes;
  const LinkTable* links = nullptr;
  // An ordered split (`--split a,b`): over all these nodes, also if one could hold the model, or if it is slow.
  bool ordered = false;
  std::optional<NodeId> host = {};  // of an ordered split, if it may host: so that changing free memory moves no host
  double max_wait = 0.3;            // the most of a token's time that the network may take
};

struct SplitShare {
  NodeId node;
  std::uint32_t layers = 0;
  std::uint64_t weights = 0, cache = 0, compute = 0;
  std::uint64_t total() const { return weights + cache + compute; }
  friend bool operator==(const SplitShare&, const SplitShare&) = default;
};

struct SplitPlan {
  NodeId host;
  bool host_has_file = true;       // false: it has to get the file first
  std::vector<SplitShare> shares;  // in the order of layers and of the engine's devices; the host's is the last
  double token_ms = 0;             // predicted, of one request
  double wait_ms = 0;              // the part of it for the network
  double load_s = 0;               // predicted: until the workers have their weights
  std::uint64_t context = 0;       // tokens that the shares have memory for; 0: the engine's initial context
  double tokens_per_second() const { return token_ms > 0 ? 1000 / token_ms : 0; }
  friend bool operator==(const SplitPlan&, const SplitPlan&) = default;
};

enum class SplitObstacle : std::uint8_t {
  fits_alone,  // a possible host can hold it alone
  no_memory,   // all together have too little
  no_links,    // no possible host has links to nodes with enough memory together
  too_slow,    // the network would take too much of each token
};
std::string_view name_of(SplitObstacle obstacle);

struct SplitShortage {
  SplitObstacle obstacle = SplitObstacle::no_memory;
  std::uint64_t need = 0, have = 0;  // bytes of memory; 0: not a matter of bytes
  std::string text;                  // one sentence for people
};

// Exactly one of them is set.
struct SplitAnswer {
  std::optional<SplitPlan> plan;
  std::optional<SplitShortage> shortage;
};

// The fewest nodes that can hold the model; of several such plans the one with the least network time, then the one
// with the first host. Of the nodes with the file (of all, if none has it) the node with the most memory is the host,
// of equal ones the one with the highest id. A node with its own settings for the model (as_host) may also be a worker
// of another host. Layers are divided in proportion to memory. The context is that of an undivided model
// (base/context_size.h) with the memory of the node that has least for each token.
SplitAnswer plan_split(const SplitQuery& query);

// For logs: "12 layers and 4.1 GiB at 0123…, ...; 8.1 tokens/s, loads in 40 s".
std::string in_words(const SplitPlan& plan);

}  // namespace corral::mesh
