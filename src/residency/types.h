// Types of the decision core: identifiers, facts about a model, stop reasons, load faults, the time. Plain values; safe
// on every thread.
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

// One attempt to have a model in memory. The core assigns the id when it queues the load; the id is valid until the
// process is gone. A second attempt, a reload or a restart is another instance. Ids are never reused.
using InstanceId = Named<std::uint64_t, struct InstanceIdTag>;
// One pending call to the core: an inference request, a `load`, an `unload`, a change of pin. The caller chooses the id
// and never reuses it.
using TicketId = Named<std::uint64_t, struct TicketIdTag>;
// One request's hold on an instance. Ids are never reused.
using LeaseId = Named<std::uint64_t, struct LeaseIdTag>;

// A memory pool that models share: "ram", "gpu0", ...
using PoolId = Named<std::string, struct PoolIdTag>;

// Predicted need of a model in one memory pool, in bytes.
struct PoolUse {
  PoolId pool;
  std::uint64_t total = 0;    // while it is loaded and not downsized
  std::uint64_t dynamic = 0;  // the part of it that a downsize frees: KV and compute buffers
  friend bool operator==(const PoolUse&, const PoolUse&) = default;
};
// One entry for each pool. Empty: unknown, and no rule of memory applies.
using MemoryUse = std::vector<PoolUse>;

// Origin of a request: a client of this node, or a peer. A peer gets only what local requests leave free (lending.h).
enum class RequestOrigin : std::uint8_t { local, peer };

// How a model may be downsized and evicted automatically; resolved by the caller.
struct EvictionSettings {
  bool auto_evict = false;               // off: never
  Millis downsize_idle_timeout{60'000};  // since the end of the last request; negative: never
  Millis evict_idle_timeout{300'000};
  double evict_weight_factor = 1.0;  // above 1: evicted later than its load time alone implies
  friend bool operator==(const EvictionSettings&, const EvictionSettings&) = default;
};

// How a model shares the NPU, if its device is one: from the recipe table (base/recipe.h); see npu_rule.h.
using NpuPolicy = NpuUse;

// The facts about a model that decisions depend on. The router keeps everything else.
struct ModelSpec {
  ModelName name;
  ModelType type = ModelType::llm;
  Device device = Device::gpu;  // effective: what the chosen backend really uses
  std::string recipe;
  NpuPolicy npu = NpuPolicy::none;
  std::uint64_t options = 0;  // fingerprint of the resolved load options: equal means that a reload changes nothing
  std::uint64_t files = 0;    // fingerprint of the files' current state; 0: unknown
  Millis load_deadline{0};    // a load that takes longer has failed; 0: no deadline
  MemoryUse memory = {};
  EvictionSettings eviction = {};
  RequestOrigin origin = RequestOrigin::local;  // of the request
  // The router must check files and memory need (CheckLoad) before the load evicts a model. Until then `device`, `npu`
  // and `memory` may be unknown.
  bool to_check = false;

  // The load starts only if nothing has to stop or be downsized for it, and has no second attempt; else it is refused
  // (errc::needs_eviction). Void as soon as another request waits for it.
  bool evicts_nothing = false;

  // Marks of a model that a group of a mesh loads here.
  // A part of another node's model, always lent. It takes no slot. A Recall is final: the share never serves again.
  bool share = false;
  // The requester decides when to try again. A failed load has no second attempt and evicts nothing, and all its
  // waiters get the error. The core records no failures and crashes of this model.
  bool once = false;
  // A request that uses a loaded instance or joins a running load, but never starts a load.
  bool joins_only = false;
};
using SpecPtr = std::shared_ptr<const ModelSpec>;

// Both clocks at one moment: `mono` decides, `wall` is shown.
struct Now {
  MonoTime mono;
  WallTime wall;
};

// Why an instance stops. Automatic reasons never apply to a pinned one, except evict_all with `nuclear_evicts_pinned`.
enum class StopReason : std::uint8_t {
  none,
  room,       // least recently used, its slot is needed
  npu,        // the NPU is needed
  memory,     // highest eviction score, its memory is needed for a load
  evict_all,  // another load failed and is tried again with all memory free
  limit,      // the limit of its type was lowered
  idle,       // unused for its evict_idle_timeout
  pressure,   // a memory pool is used above the threshold
  reload,     // the same model loads with other options
  lend,       // unused for long, and a peer's load needs its memory or slot
  recall,     // it is lent, and a local load needs its memory, or the limits of lending were lowered
  yield,      // it loads for a peer, and a local load waits
  unload,     // explicit: by a user, or by the mesh's allocation
  cancelled,  // no waiter is left for this load
  deadline,   // the load took too long
  shutdown,
};
inline constexpr std::size_t kStopReasonCount = static_cast<std::size_t>(StopReason::shutdown) + 1;
const char* name_of(StopReason reason);

// Why a load failed, as far as the next step depends on it (table in types.cpp). The Error has the message for users.
enum class LoadFault : std::uint8_t {
  file_not_found,  // evicts nothing, no second attempt
  invalid,         // preflight: the file, the options or the backend can't work; evicts nothing
  never_fits,      // more memory than the machine has; evicts nothing
  out_of_memory,   // this and the following: all other models are evicted, then a second attempt
  crashed,
  deadline,
  other,
};
const char* name_of(LoadFault fault);
bool worth_a_retry(LoadFault fault);

}  // namespace corral::residency
