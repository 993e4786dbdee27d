// The load queue: loads that wait for their turn, in order of arrival.
#pragma once

#include "residency/core/lifecycle.h"
#include "residency/core/step.h"
#include "residency/core/waiters.h"
#include "residency/state.h"

namespace corral::residency {

class LoadQueue {
 public:
  LoadQueue(State& state, Lifecycle& lifecycle, Waiters& waiters)
      : state_(state), lifecycle_(lifecycle), waiters_(waiters) {}

  Instance& enqueue(const SpecPtr& spec, Now now);
  // Queues the second attempt at a failed load, at the front.
  Instance& enqueue_again(const Instance& failed, Now now);
  // Replaces the options of a queued load by those of this waiter.
  static void follow(Instance& load, const Waiter& waiter);
  // A queued load is superfluous because the running one has the requested options: its waiters move there.
  void absorb(Instance& queued, Instance& running, const Step& step);
  // Whether new requests may wait for this load: it runs, or it is aborted for its deadline and will be tried again.
  static bool can_be_joined(const Instance& load);
  // True if too many requests wait. Those of peers are not counted, so that they can't fill the queue.
  bool refuse_if_full(TicketId ticket, const Step& step) const;
  // True for a load of a model that drains only because another load needs its slot or memory: either the model returns
  // from draining, or it stops first.
  bool comes_back(const Instance& load) const;

 private:
  State& state_;
  Lifecycle& lifecycle_;
  Waiters& waiters_;
};

}  // namespace corral::residency
