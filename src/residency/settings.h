// The numbers behind the decisions. All may change while the server runs.
#pragma once

#include <set>

#include "base/clock.h"
#include "base/named.h"
#include "residency/limits.h"

namespace corral::residency {

struct Settings {
  Limits limits = {};
  // How long busy victims still accept new requests after a load began to wait for one of them.
  Millis swap_patience{2000};
  // A load whose idle victims are stopping goes before later loads. If one of the victims takes longer than this, later
  // loads may pass, as if the victim were busy. The same for a preflight that takes longer.
  Millis slow_stop_after{500};
  // The feature specification taken literally: a failed load evicts all other models, also pinned ones.
  bool nuclear_evicts_pinned = false;
  // After this many failed loads in a row a model cools down, for `cooldown_first`, doubled after each further failure.
  int cooldown_after = 2;
  Millis cooldown_first{10'000};
  Millis cooldown_max{300'000};
  // The same for crashes under requests, each within `crash_calm` of its load. One request alone may cause two crashes,
  // because it is sent again once.
  int cooldown_after_crashes = 3;
  Millis crash_calm{60'000};
  // Maximum age of a preflight when its load evicts a model; or `check_trust` times the duration of that preflight, if
  // longer. Otherwise loads on a slow disk would be passed at each preflight.
  Millis check_age{1000};
  int check_trust = 20;

  // Maximum number of waiting requests; further ones are rejected at once.
  std::size_t max_queued = 512;
  // Minimum idle time before a timeout applies, even if the timeout is shorter: requests in quick succession are one
  // use.
  Millis idle_floor{1000};
  // Used share of a memory pool above which idle models are evicted, and how far below it eviction goes: small changes
  // of use then have no effect.
  double auto_evict_threshold_pct = 0.90;
  double pressure_relief = 0.05;
  // A model is neither evicted nor downsized for memory pressure within this time after its load: a request has just
  // needed it.
  Millis pressure_grace{5000};
  // How long a load waits for released memory, which some devices show as free only later. Also the time limit of the
  // answers to SampleMemory and Downsize.
  Millis memory_wait{5000};
  // Maximum age of a memory sample for a decision, and the interval of samples while a load waits for memory.
  Millis memory_poll{250};

  // Lending (lending.h): the maximum share of each memory pool for all lent models together; only free memory is lent.
  // 0: nothing is loaded for peers. The option mesh_lend_memory.
  double lend_share = 1;
  // Maximum number of lent models of each type.
  std::size_t lend_slots = 4;
  // A lent model is evicted after this time without a request; negative: never. The option mesh_idle_unload.
  Millis lend_idle_unload{30 * 60'000};
  // A peer's load evicts only models that were idle for this time; and whether it may evict local models at all.
  Millis lend_quiet{60'000};
  bool lend_evicts_local = true;
  // How long a peer's request may wait for preflight, memory sample and the end of victims before its load starts;
  // after this time it is refused.
  Millis lend_wait{10'000};
  // How long requests of peers may continue on a model that a local load evicts or an unload stops.
  Millis recall_grace{30'000};

  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace corral::residency
