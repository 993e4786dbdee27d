// What this node lends to the peers of its mesh. Computes only; core/peer_requests.h and core/recalls.h act on it.
//
// A model that was loaded for a peer is lent: its instance takes no slot, and only as much memory as
// `Settings::lend_share` and free memory allow. A local request makes it local (Adoption).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "residency/state.h"

namespace corral::residency {

// Predicted need of all lent models in each memory pool, without regard to downsizes.
MemoryUse lent_memory(const State& state);
// True if the lent models that aren't leaving need more than the limit.
bool is_too_much_lent(const State& state);

// No local request runs on it. If a load needs its slot or memory, peer requests have `recall_grace`, even on a local
// instance.
inline bool works_for_peers_only(const Instance& instance) { return instance.leases == instance.peer_leases; }
// The same, and it is lent: a local load recalls it at once.
inline bool is_peers_only(const Instance& instance) { return instance.lent && works_for_peers_only(instance); }
// Only peers wait for it.
bool is_for_peers_only(const Instance& load);

// Rejects a peer's request that can't be served now.
Error not_here(const ModelName& model, std::string_view why);
// Only its group may load this model (ModelSpec::joins_only).
Error not_standing(const ModelName& model);

// Eviction settings of a lent model whose own settings are `own`: always evicted after `lend_idle_unload` and under
// pressure.
EvictionSettings lent_eviction(const EvictionSettings& own, const Settings& settings);

// Whether a lent model would get a local slot.
struct Place {
  bool is_free = false;
  Instance* victim = nullptr;  // else: the model that must be evicted for it, if any: idle, least recently used
};
// While a local load waits for a slot of this type, is_free is false and victim is nullptr.
Place place_for(const State& state, const Instance& lent);

// Whether a lent load may start, and its victims.
struct LentEvictionPlan {
  std::vector<Instance*> victims;  // all idle for long
  bool settles = false;            // an instance must still stop, or released memory isn't free yet
  bool stale = false;              // a memory sample is needed first
  std::optional<Error> refused;    // errc::not_here: how much memory is missing, or another cause

  bool is_there() const { return victims.empty() && !settles && !stale; }
};
// `load` is lent and queued; no other load runs or waits.
//
// - It takes only free memory, up to the threshold of memory pressure (auto_evict_threshold_pct). All lent models
//   together take at most lend_share of each pool, and lend_slots of each type.
// - Victims for what is missing were idle for `lend_quiet`: lent ones first, then local ones that aren't pinned, if
//   lend_evicts_local. As few as possible; none if all together don't suffice.
// - A model of unknown need is lent only if no memory is measured at all.
// - It starts only after a sample shows the memory as free.
LentEvictionPlan find_lent_room(State& state, const Instance& load, MonoTime now);

}  // namespace corral::residency
