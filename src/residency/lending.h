// What this machine lends to the others of its mesh: pure questions to the state. core/peer_requests.h and
// core/recalls.h act on them.
//
// A model that was loaded for a peer is lent: its instance takes none of its owner's slots, and memory only as far as
// `Settings::lend_share` and what is free allow. A request of the owner's makes it his (Adoption).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "residency/state.h"

namespace corral::residency {

// What lent models are predicted to take of each memory, whole even where they are downsized.
MemoryUse lent_memory(const State& state);
// True when those of them that stay take more than they may.
bool is_too_much_lent(const State& state);

// Nothing but requests of peers runs on it, if anything. Where it has to go they have `recall_grace`, whoever's it is.
inline bool works_for_peers_only(const Instance& instance) { return instance.leases == instance.peer_leases; }
// And it is lent: an owner's load recalls it at once.
inline bool is_peers_only(const Instance& instance) { return instance.lent && works_for_peers_only(instance); }
// Only peers wait for it.
bool is_for_peers_only(const Instance& load);

// A peer's request that can't be served now.
Error not_here(const ModelName& model, std::string_view why);
// Nobody may load it but the group that it is meant for (ModelSpec::joins_only).
Error not_standing(const ModelName& model);

// How a lent model leaves memory by itself, whose owner has said `own` of it: always after `lend_idle_unload`, and
// under pressure.
EvictionSettings lent_eviction(const EvictionSettings& own, const Settings& settings);

// Where a lent model would go in its owner's slots.
struct Place {
  bool is_free = false;
  Instance* victim = nullptr;  // else: the one that has to leave it, if one can; idle, and used least recently
};
// No place is to be had while a load of the owner's waits for one of that type.
Place place_for(const State& state, const Instance& lent);

// Whether a lent load may start, and who goes for it.
struct LentEvictionPlan {
  std::vector<Instance*> victims;  // all idle for long
  bool settles = false;            // somebody has still to end, or memory to come back
  bool stale = false;              // the memory has to be looked at first
  std::optional<Error> refused;    // errc::not_here: what is short by how much

  bool is_there() const { return victims.empty() && !settles && !stale; }
};
// `load` is lent and queued; nobody else loads or waits.
//
//   it takes free memory only, up to the share at which idle models go (auto_evict_threshold_pct), and with all that is
//   lent no more than lend_share of each; lend_slots of each type
//   for what is missing those go that were idle for `lend_quiet`: lent ones first, then the owner's that aren't pinned,
//   if lend_evicts_local; the fewest that suffice, and nobody if all together don't
//   what needs nobody knows is lent only where no memory is measured at all
//   it never starts in trust
LentEvictionPlan find_lent_room(State& state, const Instance& load, MonoTime now);

}  // namespace corral::residency
