// What a node says of itself: which models it has, which it serves, how much memory there is. Everything in a statement
// is about its author; nothing that it says of others is believed. Plain values; safe on every thread.
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
  member = 1,  // serves its own models, lends what it may
  worker = 2,  // its memory is the mesh's
  client = 3,  // lends nothing, routes everything
};
std::string_view name_of(Role role);
std::optional<Role> parse_role(std::string_view name);

// One memory, in bytes. What the mesh may load is bounded by `lent`, and by `free`, or `free` + `evictable` when idle
// models have to go.
struct MemoryReport {
  std::string name;  // "cpu", "cuda0"
  bool gpu = false;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::uint64_t evictable = 0;  // held by models that a load of the mesh may evict now
  std::uint64_t lent = 0;       // the most that loads of the mesh may have in all; 0: none
  friend bool operator==(const MemoryReport&, const MemoryReport&) = default;
};

// A model whose files are on the author's disk, with what lists of models show.
struct ModelOnDisk {
  std::string name;                  // as its node calls it
  std::vector<std::string> aliases;  // sorted
  ModelType type = ModelType::llm;
  std::string recipe;      // "llamacpp"
  std::string checkpoint;  // "org/repo:QUANT" from the hub; empty: of the node's own
  std::vector<std::string> labels;
  std::string architecture;
  std::string quantisation;
  std::uint64_t parameters = 0;       // 0: not known
  std::uint64_t bytes = 0;            // all parts and the projector
  std::optional<Sha256> hash;         // of all of them; nothing while it is being computed
  std::uint64_t created = 0;          // seconds since 1970, of the first file
  std::uint64_t context_trained = 0;  // tokens; 0: not said
  std::uint64_t context_usable = 0;   // now, or after a load
  std::uint64_t predicted = 0;        // bytes of memory at that context; 0: not known
  Device device = Device::none;       // what it would run on here
  double tokens_per_second = 0;       // when it was last measured here; 0: never
  bool tools = false;
  bool thinking = false;
  bool vision = false;  // with the projector that is there
  bool may_copy = false;
  // As far as layers can be held by several nodes (see SplitModel); 0 layers: nobody has looked, or they can't.
  std::uint32_t layers = 0;
  std::uint64_t layer_bytes = 0;    // weights of a layer, on average
  std::uint64_t cache_bytes = 0;    // of a layer, at the smallest context that a load of it has
  std::uint64_t ends_bytes = 0;     // weights that stay with who hosts it
  std::uint64_t compute_bytes = 0;  // buffers of each share
  std::uint64_t split_context = 0;  // tokens: that smallest context; 0: not said
  std::uint64_t max_context = 0;    // and the largest that it may have
  friend bool operator==(const ModelOnDisk&, const ModelOnDisk&) = default;
};

// A model that the author's owner wants the mesh to have (mesh_models), wherever its files are.
struct WantedModel {
  std::string name;
  std::string source;  // "org/repo:QUANT"
  friend bool operator==(const WantedModel&, const WantedModel&) = default;
};

enum class ServingState : std::uint8_t { loading = 1, ready = 2, draining = 3 };
std::string_view name_of(ServingState state);

// A model in the author's memory, or on its way there. It stands in `models`, too.
struct ServedModel {
  std::string name;
  ServingState state = ServingState::ready;
  std::uint64_t context = 0;  // tokens of one request
  std::uint32_t slots = 0;    // requests that run at once without slowing each other down much; 0: not known
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
  double tokens_per_second = 0;  // measured, of one request; 0: not yet
  std::uint64_t idle_ms = 0;     // since the last request; 0 while one runs
  std::uint64_t bytes = 0;       // of memory that it holds
  bool lent = false;             // loaded for the mesh; else hosted by its owner
  friend bool operator==(const ServedModel&, const ServedModel&) = default;
};

// How fast layers of models that others host are computed at the author, by the type of their weights.
struct WeightSpeed {
  std::string type;  // ggml's: "q8_0", "q4_K", ...
  std::uint64_t bytes_per_second = 0;
  friend bool operator==(const WeightSpeed&, const WeightSpeed&) = default;
};

// How much a model is asked for at the author, as an entry.
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

// A model that is being copied to the author; those that wait for their turn aren't told.
struct CopyingModel {
  Sha256 content{};
  std::uint64_t done = 0, total = 0;  // bytes
  std::uint64_t bytes_per_second = 0;
  bool by_allocation = false;  // nobody ordered it but the allocation
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
  bool works = false;         // layers of models that others host may be held there
  bool takes_copies = false;  // the allocation may have models copied to it
  std::vector<MemoryReport> memory;
  std::vector<WeightSpeed> weight_speeds;  // empty: not measured
  bool looking = false;                    // it was just started: which models it has isn't known yet
  std::vector<ModelOnDisk> models;
  std::uint64_t more_models = 0;  // that didn't fit into the bounds
  std::vector<WantedModel> wants;
  std::vector<ServedModel> serving;
  std::vector<Demand> demand;
  std::vector<LinkReport> links;
  std::vector<CopyingModel> copying;
  std::vector<GroupReport> groups;   // hosted by the author; sorted by model
  std::vector<ShareReport> shares;   // of models that others host
  std::optional<NodeOrder> order;    // what the author was told to have
  std::vector<ContentKey> resting;   // were given back for idleness, and nobody has asked for them since; sorted
  std::vector<ContentKey> unloads;   // were unloaded here because somebody said so, and aren't asked for yet; sorted
  std::vector<ContentKey> declined;  // couldn't be loaded here just now, or were lost: others may have them; sorted
  std::vector<SplitOrder> split_orders;  // that were given to the author; sorted by model
  bool recalled = false;                 // the author's owner wants the memory that it lends back
  // The one to the author that the allocation ordered; nullptr: there is none.
  const CopyingModel* copy_by_allocation(const Sha256& content) const {
    for (const auto& copy : copying)
      if (copy.by_allocation && copy.content == content) return &copy;
    return nullptr;
  }
  friend bool operator==(const NodeState&, const NodeState&) = default;
};

// What a statement may hold; a reader passes over what is beyond.
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
  std::size_t name = 256;                         // bytes; longer names of models are passed over
  std::size_t text = 256;                         // bytes; longer texts are cut
  std::uint64_t number = std::uint64_t{1} << 56;  // larger ones are taken for this
};
inline constexpr NodeStateLimits kNodeStateLimits;

// Numbers that move by themselves (free memory, speeds, idle times) in steps, so that they are news now and then only.
// Free memory is rounded down, to 32 MiB.
NodeState rounded(NodeState said);

// Pages of a statement: each at most kLargestStatementPage bytes, at most kMaxPages of them. What changes together is
// in one page, so that a change of one model or of the load costs a page or two. Equal statements give equal pages.
// Models beyond the bounds are left out (those that are served come first) and counted in more_models.
inline constexpr std::size_t kLargestStatementPage = 48 * 1024;
inline constexpr std::size_t kMaxPages = 256;
inline constexpr std::size_t kMaxStatementBytes = 1024 * 1024;
std::vector<std::string> encode_pages(NodeState statement);
// In any order. Entries and fields of later versions are passed over; the pages keep them. Texts hold no control
// characters and are UTF-8; numbers are bounded. Errors: malformed.
Result<NodeState> decode_pages(const std::vector<std::string_view>& pages);

}  // namespace corral::mesh
