// The numbers behind the decisions; all may change while the server runs.
#pragma once

#include <set>

#include "base/clock.h"
#include "base/named.h"
#include "residency/limits.h"

namespace corral::residency {

struct Settings {
  Limits limits = {};
  // How long busy instances still take new requests after a load began to wait for one of them.
  Millis swap_patience{2000};
  // How long a load whose victims only have to end keeps later loads from passing. A child that is slow to end is
  // another reason to wait like a busy one.
  Millis stop_grace{500};
  // The literal old rule: a failed load drives out pinned models too.
  bool nuclear_evicts_pinned = false;
  // A model cools down after this many failed loads in a row, for `cooldown_first`, doubled by each further one.
  int cooldown_after = 2;
  Millis cooldown_first{10'000};
  Millis cooldown_max{300'000};
  // The same for one whose processes end under requests, from this many on, each within `crash_calm` of its load. One
  // request alone may take two with it, since it is sent again once.
  int cooldown_after_crashes = 3;
  Millis crash_calm{60'000};
  // How old a look at the files of a load may be when somebody goes for it, or `check_trust` times as long as that look
  // took: where a disk is slow, others aren't to pass at every look.
  Millis check_age{1000};
  int check_trust = 20;

  // As many may wait for a load; who comes beyond is refused at once.
  std::size_t max_queued = 512;
  // However short its timeouts, a model is left alone for so long after its last use: requests that follow each other
  // quickly are one use.
  Millis idle_floor{1000};
  // Used share of a memory above which idle models go, and how far below it they bring it: a little use more or less
  // then changes nothing.
  double auto_evict_threshold_pct = 0.90;
  double pressure_relief = 0.05;
  // So long after its load a model doesn't go for the sake of others: what has just been loaded is wanted.
  Millis pressure_grace{5000};
  // Memory that an instance gave up comes back late on some devices: so long a load waits for it. Also how long the
  // answers to SampleMemory and Downsize may take.
  Millis memory_wait{5000};
  // How old a sample of the memory may be for a decision, and how often a load that waits for memory looks again.
  Millis memory_poll{250};

  // What other machines of a mesh may have loaded here (lending.h): the share of each memory that all lent models may
  // take together, of what is free. 0: nobody loads anything here for others. The option mesh_lend_memory.
  double lend_share = 1;
  // So many models of each type.
  std::size_t lend_slots = 4;
  // A lent model goes after so long without a request; negative: never by itself. The option mesh_idle_unload.
  Millis lend_idle_unload{30 * 60'000};
  // Nobody goes for a peer's load who was used within this time; and whether models of the owner's may go at all.
  Millis lend_quiet{60'000};
  bool lend_evicts_local = true;
  // How long a peer's request may wait for the look at files and memory and for the end of those who go, before the
  // load begins; then it is refused.
  Millis lend_wait{10'000};
  // How long the requests of peers may go on on a model that has to go, for its owner's load or by his unload.
  Millis recall_grace{30'000};

  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace corral::residency
