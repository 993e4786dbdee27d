// How local loads reclaim lent instances.
//
// A lent model that is in the way stops at once if no request runs on it; otherwise it drains for at most
// `recall_grace`. A load for a peer is aborted. Every other drain, lent or not, waits at most `recall_grace` if only
// peer requests run.
#pragma once

#include "residency/core/lifecycle.h"
#include "residency/core/load_queue.h"
#include "residency/core/step.h"
#include "residency/core/waiters.h"
#include "residency/state.h"

namespace corral::residency {

class Recalls {
 public:
  Recalls(State& state, Lifecycle& lifecycle, Waiters& waiters, LoadQueue& queue)
      : state_(state), lifecycle_(lifecycle), waiters_(waiters), queue_(queue) {}

  // Stops instances that drain for longer than `recall_grace` while only peer requests run on them.
  void end_overdue(const Step& step);
  // Aborts a load for a peer if a local load waits, or if lending is switched off.
  void yield(const Step& step);
  // Recalls lent instances beyond `lend_share` and `lend_slots`: idle ones first, least recently used first. Instances
  // with local requests stay.
  void enforce_limits(const Step& step);

 private:
  State& state_;
  Lifecycle& lifecycle_;
  Waiters& waiters_;
  LoadQueue& queue_;
};

}  // namespace corral::residency
