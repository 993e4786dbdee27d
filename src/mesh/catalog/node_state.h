// Node state: what a node publishes about itself, such as the models that it has and serves, and its memory. It
// concerns only its author: reports about other nodes are ignored. Plain values; safe on every thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/model_type.h"
#include "base/sha256.h"
#include "mesh/catalog/group_report.h"
#include "mesh/identity/address.h"
#include "mesh/identity/keys.h"

namespace corral::mesh {

enum class Role : std::uint8_t {
  member = 1,  // serves its own models, lends memory by its settings
  worker = 2,  // lends all its memory
  client = 3,  // lends nothing, sends requests to other nodes
};
std::string_view name_of(Role role);
std::optional<Role> parse_role(std::string_view name);

// One memory pool, in bytes. Loads for the mesh are bounded by `lent`, and by `free`, or by `free` + `evictable` if
// idle models are evicted.
struct MemoryReport {
  std::string name;  // "cpu", "cuda0"
  bool gpu = false;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::uint64_t evictable = 0;  // held by models that a load for the mesh may evict now
  std::uint64_t lent = 0;       // the most for all loads for the mesh; 0: none
  friend bool operator==(const MemoryReport&, const MemoryReport&) = default;
};

// A model on the author's disk, with the fields of model lists.
struct ModelOnDisk {
  std::string name;                  // its name at this node
  std::vector<std::string> aliases;  // sorted
  ModelType type = ModelType::llm;
  std::string recipe;      // "llamacpp"
  std::string checkpoint;  // "org/repo:QUANT" from the hub; empty: a local model of the node
  std::vector<std::string> labels;
  std::string architecture;
  std::string quantisation;
  std::uint64_t parameters = 0;       // 0: not known
  std::uint64_t bytes = 0;            // all parts and the projector
  std::optional<Sha256> hash;         // of all of them; nothing while it is being computed
  std::uint64_t created = 0;          // seconds since 1970, of the first file
  std::uint64_t context_trained = 0;  // tokens; 0: not known
  std::uint64_t context_usable = 0;   // now, or after a load
  std::uint64_t predicted = 0;        // bytes of memory at that context; 0: not known
  Device device = Device::none;       // the device it would run on here
  double tokens_per_second = 0;       // when it was last measured here; 0: never
  bool tools = false;
  bool thinking = false;
  bool vision = false;  // its projector is there
  bool may_copy = false;
  // For splits (see SplitModel); 0 layers: not read yet, or the model can't be split.
  std::uint32_t layers = 0;
  std::uint64_t layer_bytes = 0;    // weights of a layer, on average
  std::uint64_t cache_bytes = 0;    // of a layer, at the smallest context that a load of it has
  std::uint64_t ends_bytes = 0;     // weights that stay at the host
  std::uint64_t compute_bytes = 0;  // buffers of each share
  std::uint64_t split_context = 0;  // tokens: that smallest context; 0: not known
  std::uint64_t max_context = 0;    // and the largest allowed one
  friend bool operator==(const ModelOnDisk&, const ModelOnDisk&) = default;
};

// A model of the author's setting mesh_models, wherever its files are.
struct WantedModel {
  std::string name;
  std::string source;  // "org/repo:QUANT"
  friend bool operator==(const WantedModel&, const WantedModel&) = default;
};

enum class ServingState : std::uint8_t { loading = 1, ready = 2, draining = 3 };
std::string_view name_of(ServingState state);

// A model in the author's memory, or being loaded. `models` lists it, too.
struct ServedModel {
  std::string name;
  ServingState state = ServingState::ready;
  std::uint64_t context = 0;  // tokens of one request
  std::uint32_t slots = 0;    // requests that can run at once at almost full speed; 0: not known
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
  double tokens_per_second = 0;  // measured, of one request; 0: not yet
  std::uint64_t idle_ms = 0;     // since the last request; 0 while one runs
  std::uint64_t bytes = 0;       // of its memory
  bool lent = false;             // loaded for the mesh; false: for the node's own clients
  friend bool operator==(const ServedModel&, const ServedModel&) = default;
};

// The author's speed in computing layers for other hosts, by the type of the weights.
struct WeightSpeed {
  std::string type;  // ggml's: "q8_0", "q4_K", ...
  std::uint64_t bytes_per_second = 0;
  friend bool operator==(const WeightSpeed&, const WeightSpeed&) = default;
};

// The requests for a model with the author as entry node.
struct Demand {
  std::string name;
  double per_hour = 0;  // requests, decayed
  friend bool operator==(const Demand&, const Demand&) = default;
};

// A link that the author has.
struct LinkReport {
  NodeId to;
  std::uint64_t round_trip_us = 0;  // 0: not measured yet
  std::uint64_t bytes_per_second = 0;
  friend bool operator==(const LinkReport&, const LinkReport&) = default;
};

// A model that is being copied to the author; waiting copies aren't listed.
struct CopyingModel {
  Sha256 content{};
  std::uint64_t done = 0, total = 0;  // bytes
  std::uint64_t bytes_per_second = 0;
  bool by_allocation = false;  // ordered only by the allocation
  friend bool operator==(const CopyingModel&, const CopyingModel&) = default;
};

struct NodeState {
  std::string name;  // of the host, for people
  Role role = Role::member;
  std::vector<Address> addresses;
  std::string version;      // of corral
  std::string engine;       // version of llama.cpp
  std::uint16_t minor = 0;  // of the protocol
  std::uint64_t disk_free = 0;
  bool works = false;         // may hold layers for other hosts
  bool takes_copies = false;  // the allocation may order copies to it
  std::vector<MemoryReport> memory;
  std::vector<WeightSpeed> weight_speeds;  // empty: not measured
  bool looking = false;                    // it just started: its models aren't known yet
  std::vector<ModelOnDisk> models;
  std::uint64_t more_models = 0;  // count of models beyond the bounds
  std::vector<WantedModel> wants;
  std::vector<ServedModel> serving;
  std::vector<Demand> demand;
  std::vector<LinkReport> links;
  std::vector<CopyingModel> copying;
  std::vector<GroupReport> groups;       // hosted by the author; sorted by model
  std::vector<ShareReport> shares;       // of models that other nodes host
  std::optional<NodeOrder> order;        // for the author
  std::vector<ContentKey> resting;       // unloaded for idleness, and no request since; sorted
  std::vector<ContentKey> unloads;       // unloaded here by order, and no request since; sorted
  std::vector<ContentKey> declined;      // failed to load here, or lost, just now: other nodes may have them; sorted
  std::vector<SplitOrder> split_orders;  // given to the author; sorted by model
  bool recalled = false;                 // the author's owner needs the lent memory
  // The author's running copy of this content by order of the allocation; nullptr: there is none.
  const CopyingModel* copy_by_allocation(const Sha256& content) const {
    for (const auto& copy : copying)
      if (copy.by_allocation && copy.content == content) return &copy;
    return nullptr;
  }
  friend bool operator==(const NodeState&, const NodeState&) = default;
};

// Bounds of a node state; a reader skips entries beyond them.
struct NodeStateLimits {
  std::size_t models = 2048;
  std::size_t aliases = 8;  // of a model; labels too
  std::size_t labels = 16;
  std::size_t wants = 64;
  std::size_t serving = 64;
  std::size_t demand = 64;
  std::size_t links = 64;
  std::size_t copying = 16;
  std::uint64_t layers = 1 << 16;
  std::size_t groups = 8;
  std::size_t shares_of_group = 64;
  std::size_t shares = 4;
  std::size_t marks = 64;  // of each kind
  std::size_t split_orders = 8;
  std::size_t memory = 32;
  std::size_t weight_speeds = 16;
  std::size_t addresses = 8;
  std::size_t name = 256;                         // bytes; models with longer names are skipped
  std::size_t text = 256;                         // bytes; longer texts are cut
  std::uint64_t number = std::uint64_t{1} << 56;  // larger numbers become this
};
inline constexpr NodeStateLimits kNodeStateLimits;

// Rounds measurements that change all the time (free memory, speeds), so that they rarely cause an announcement. Free
// memory is rounded down, to 32 MiB. Idle times and demand stay as they are: their author gives them in steps
// (fleet::idle_steps, fleet::DemandMeter), and each step means something to other nodes.
NodeState rounded(NodeState node_state);

// Pages of a node state: each at most kLargestNodeStatePage bytes, at most kMaxPages of them. Fields that change
// together share a page, so that a change of one model or of the load costs a page or two. Equal states give equal
// pages. Models beyond the bounds are left out (served models come first) and counted in more_models.
inline constexpr std::size_t kLargestNodeStatePage = 48 * 1024;
inline constexpr std::size_t kMaxPages = 256;
inline constexpr std::size_t kMaxStatementBytes = 1024 * 1024;
std::vector<std::string> encode_pages(NodeState node_state);
// In any order. Entries and fields of later versions are skipped; the pages keep them. Texts are UTF-8 without control
// characters; numbers are bounded. Errors: malformed.
Result<NodeState> decode_pages(const std::vector<std::string_view>& pages);

}  // namespace corral::mesh
