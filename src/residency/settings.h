// The numbers behind the decisions; all may change while the server runs.
#pragma once

#include <set>

#include "base/clock.h"
#include "base/named.h"
#include "residency/limits.h"

namespace corral::residency {

struct Settings {
  Limits limits = {};
  // How long busy servers still take new requests after a load began to wait for one of them.
  Millis swap_patience{2000};
  // How long a load whose victims only have to end keeps later loads from passing. A child that is slow to end is
  // another reason to wait like a busy one.
  Millis stop_grace{500};
  // The literal old rule: a failed load drives out pinned models too.
  bool nuclear_evicts_pinned = false;
  // A model cools down after this many failed loads in a row, for `cooldown_first`, doubled by each further one.
  int cooldown_after = 2;
  Millis cooldown_first{10'000};
  Millis cooldown_most{300'000};

  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace corral::residency
