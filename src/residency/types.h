// The words of the decision core: identifiers, what it knows of a model, why an instance stops, what the time is.
// Plain values; safe on every thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/model_type.h"
#include "base/named.h"
#include "base/recipe.h"

namespace corral::residency {

// One attempt to have a model in memory: given by the core when the load is queued, kept until the child is gone. A
// second attempt, a reload or a restart is another instance. Never used twice.
using InstanceId = Named<std::uint64_t, struct InstanceIdTag>;
// One thing that waits for an answer of the core: an inference request, a `load`, an `unload`, a change of pin. Chosen
// by the caller, never used twice.
using TicketId = Named<std::uint64_t, struct TicketIdTag>;
// One request's hold on an instance. Never used twice.
using LeaseId = Named<std::uint64_t, struct LeaseIdTag>;

// A memory that models share: "ram", "gpu0", ...
using PoolId = Named<std::string, struct PoolIdTag>;

// What a model takes of one memory, as predicted before its load; bytes.
struct PoolUse {
  PoolId pool;
  std::uint64_t total = 0;    // while it is loaded and not downsized
  std::uint64_t dynamic = 0;  // the part of it that a downsize gives back: KV and compute buffers
  friend bool operator==(const PoolUse&, const PoolUse&) = default;
};
// Of every memory; empty: not known, and no rule of memory applies.
using MemoryUse = std::vector<PoolUse>;

// Who wants a model: somebody who asks this machine, or another machine of its mesh, which only gets what its owner can
// spare (lending.h).
enum class RequestOrigin : std::uint8_t { local, peer };

// How a model may be downsized and evicted without anybody asking for it; resolved by the caller.
struct EvictionSettings {
  bool auto_evict = false;               // off: never
  Millis downsize_idle_timeout{60'000};  // idle counts from the end of the last request; negative: never
  Millis evict_idle_timeout{300'000};
  double evict_weight_factor = 1.0;  // above 1: worth more than its load time says
  friend bool operator==(const EvictionSettings&, const EvictionSettings&) = default;
};

// How a model shares the NPU, if its device is one: by the table of recipes, see npu_rule.h.
using NpuPolicy = NpuUse;

// What the core needs to know of a model to decide. Everything else about it travels beside, in the shell.
struct ModelSpec {
  ModelName name;
  ModelType type = ModelType::llm;
  Device device = Device::gpu;  // effective: what the backend that was chosen really uses
  std::string recipe;
  NpuPolicy npu = NpuPolicy::none;
  std::uint64_t options = 0;  // fingerprint of the resolved load options: equal means that a reload changes nothing
  std::uint64_t files = 0;    // tells this state of its files from any other; 0: not known
  Millis load_deadline{0};    // a load that takes longer has failed; 0: no deadline
  MemoryUse memory = {};
  EvictionSettings eviction = {};
  RequestOrigin origin = RequestOrigin::local;  // of whoever asks
  // The shell has to look at its files and its needs (CheckLoad) before anybody goes for it. Until then `device`, `npu`
  // and `memory` needn't be known.
  bool to_check = false;

  // What a group of a mesh has loaded here.
  // A part of another machine's model, always a peer's: it takes no slot, and told to go it goes for good (Recall).
  bool share = false;
  // Whoever asked decides when it is tried again: its failed load has no second attempt, evicts nobody, and is
  // everybody's answer who waits for it; nothing is noted of its ends.
  bool once = false;
  // Of a request: it takes what is in memory, or loads, and begins no load.
  bool joins_only = false;
};
using SpecPtr = std::shared_ptr<const ModelSpec>;

// Both clocks at one moment: `mono` decides, `wall` is shown.
struct Now {
  MonoTime mono;
  WallTime wall;
};

// Why an instance has to go. Automatic reasons never touch a pinned one.
enum class StopReason : std::uint8_t {
  none,
  room,       // least recently used, its slot is needed
  npu,        // the NPU is needed
  memory,     // most disposable, its memory is needed for a load
  evict_all,  // another load failed and is tried again with all memory free
  limit,      // the limit of its type was lowered
  idle,       // unused for its evict_idle_timeout
  pressure,   // others on this machine want the memory
  reload,     // the same model loads with other options
  lend,       // unused for long, and a peer's load needs its place
  recall,     // was lent, and its owner's load needs the memory, or he lends less
  yield,      // a load for a peer, and one of the owner's waits
  unload,     // asked for
  cancelled,  // nobody waits for this load any more
  deadline,   // the load took too long
  shutdown,
};
inline constexpr std::size_t kStopReasonCount = static_cast<std::size_t>(StopReason::shutdown) + 1;
const char* name_of(StopReason reason);

// Why a load failed, as far as the next step depends on it (table in types.cpp). The words for people are in the Error.
enum class LoadFault : std::uint8_t {
  file_not_found,  // evicts nobody, no second attempt
  invalid,         // pre-flight: the file, the options or the backend can't work; evicts nobody
  never_fits,      // more memory than there is; evicts nobody
  out_of_memory,   // these and below: everybody else goes, one more attempt
  crashed,
  deadline,
  other,
};
const char* name_of(LoadFault fault);
bool worth_a_retry(LoadFault fault);

}  // namespace corral::residency
