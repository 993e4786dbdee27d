// How local loads get back what is lent.
//
// A lent model that is in the way goes at once if no request runs on it, else it accepts no new ones and has
// `recall_grace`; a load for a peer is aborted. Whatever else drains, lent or not, waits no longer than that for peer
// requests alone.
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
  // Aborts a load for a peer if a local load waits, or nothing may be lent any more.
  void yield(const Step& step);
  // Recalls what is lent beyond `lend_share` and `lend_slots`: idle ones first, least recently used first. What local
  // requests use stays.
  void enforce_limits(const Step& step);

 private:
  State& state_;
  Lifecycle& lifecycle_;
  Waiters& waiters_;
  LoadQueue& queue_;
};

}  // namespace corral::residency
