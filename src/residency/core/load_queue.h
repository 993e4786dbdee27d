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
  // A second attempt at a load that has failed: it goes first.
  Instance& enqueue_again(const Instance& failed, Now now);
  // A queued load becomes one for what this waiter asked for.
  static void follow(Instance& load, const Waiter& wish);
  // A queued load is superfluous, because the one that runs has the wanted options: its waiters wait for that one.
  void absorb(Instance& queued, Instance& running, const Step& step);
  // A load whose end will be the answer of newcomers too: one that runs, also while it is aborted for its deadline, as
  // it is tried again then.
  static bool can_be_joined(const Instance& load);
  // True if too many wait already. Peers don't count: they can't keep anybody out.
  bool refuse_if_full(TicketId ticket, const Step& step) const;
  // True for a load of a model that drains only because another load needs its place: either the model stays or it is
  // gone first.
  bool comes_back(const Instance& load) const;

 private:
  State& state_;
  Lifecycle& lifecycle_;
  Waiters& waiters_;
};

}  // namespace corral::residency
