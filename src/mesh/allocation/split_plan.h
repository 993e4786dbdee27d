// How a model that no node can hold alone is cut into layers over several nodes: which nodes, how many layers each, and
// what that will be like. Pure, the same answer for any order of its input; safe on every thread. Bytes everywhere.
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

inline constexpr double kTurnMillis = 2.5;               // a worker's turn besides its layers and the network
inline constexpr std::uint64_t kHostBytes = 40'000'000;  // an engine's libraries and heaps, at the host

// A model as far as a split is concerned.
struct SplitModel {
  std::uint32_t layers = 0;
  std::uint64_t layer_bytes = 0;    // weights of a layer
  std::uint64_t cache_bytes = 0;    // KV cache of a layer, at `context`
  std::uint64_t ends_bytes = 0;     // embeddings and output: weights that stay with the host
  std::uint64_t compute_bytes = 0;  // buffers that each share needs besides
  std::uint64_t context = 0;        // tokens that it has at least; 0: not known
  std::uint64_t max_context = 0;  // that it has where there is memory for them; not above `context`: no more than that
  friend bool operator==(const SplitModel&, const SplitModel&) = default;
};
// A model of which only announcements are known: `bytes` of files, `need` of memory on one node. Taken for 32 equal
// layers, the ends for one more, the buffers for a thirty-second of all. Who has the file knows it better.
SplitModel rough_split_model(std::uint64_t bytes, std::uint64_t need);

struct SplitNode {
  NodeId id;
  std::uint64_t memory = 0;  // that it gives
  std::uint64_t speed = 0;   // bytes of weights a second that it computes a part with, for one request; 0: not known
  bool has_file = false;
  bool works = true;                       // it may hold layers for another host
  std::optional<SplitModel> as_host = {};  // the model as its settings have it where it hosts; none: as all have it
};

struct SplitQuery {
  SplitModel model;
  std::vector<SplitNode> nodes;
  const LinkTable* links = nullptr;
  // Over all these nodes, as somebody has said so (`--split a,b`): also if one would do, or if it is slow.
  bool told = false;
  std::optional<NodeId> host = {};  // told: by this one, where it may. What is free moves, and the host doesn't with it
  double max_wait = 0.3;            // the part of a token's time that may be spent on the network
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
  bool host_has_file = true;       // else it has to get the file first
  std::vector<SplitShare> shares;  // in the order of layers and of the engine's devices; the host's is the last
  double token_ms = 0;             // predicted, of one request
  double wait_ms = 0;              // of it, for the network
  double load_s = 0;               // predicted: until the workers have their weights
  std::uint64_t context = 0;       // tokens that the shares have room for; 0: not known, those that it begins with
  double tokens_per_second() const { return token_ms > 0 ? 1000 / token_ms : 0; }
  friend bool operator==(const SplitPlan&, const SplitPlan&) = default;
};

enum class SplitObstacle : std::uint8_t {
  fits_alone,  // one node that could host can hold it
  no_memory,   // all together have too little
  no_links,    // those that have enough together don't all have links to one that could host
  too_slow,    // the network would take too much of each token
};
std::string_view name_of(SplitObstacle obstacle);

struct SplitShortage {
  SplitObstacle obstacle = SplitObstacle::no_memory;
  std::uint64_t need = 0, have = 0;  // bytes of memory; 0: not a matter of bytes
  std::string text;                  // one sentence for people
};

// One of them is there.
struct SplitAnswer {
  std::optional<SplitPlan> plan;
  std::optional<SplitShortage> shortage;
};

// The fewest nodes that do; of several ways the one that waits least, then the one whose host is first. Host is, of the
// nodes with the file (of all, if none has it), the one with the most memory, of equals the one with the highest id;
// one with settings of its own for the model (as_host) may be a worker of another all the same.
// Layers are shared out by memory. The context is what a model that is alone would have (base/context_size.h) if its
// memory were that of the node that has least for each token.
SplitAnswer plan_split(const SplitQuery& query);

// "12 layers and 4.1 GB at 0123…, ...; 8.1 tokens/s, loads in 40 s".
std::string in_words(const SplitPlan& plan);

}  // namespace corral::mesh
