// Starts and ends requests on instances.
#pragma once

#include "residency/core/lifecycle.h"
#include "residency/core/step.h"
#include "residency/core/wake_timer.h"
#include "residency/state.h"

namespace corral::residency {

class Leases {
 public:
  Leases(State& state, Lifecycle& lifecycle, WakeTimer& timer) : state_(state), lifecycle_(lifecycle), timer_(timer) {}

  // One more request. A downsized instance restores its memory automatically.
  LeaseId take(Instance& instance, RequestOrigin origin, Now now);
  void grant(Instance& instance, TicketId ticket, RequestOrigin origin, const Step& step);
  // The request has ended. True: decisions may change.
  bool release(LeaseId lease, const Step& step);

 private:
  bool now_idle(Instance& instance, const Step& step);

  State& state_;
  Lifecycle& lifecycle_;
  WakeTimer& timer_;
};

}  // namespace corral::residency
