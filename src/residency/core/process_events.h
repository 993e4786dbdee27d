// Events of processes: loaded, failed, stopped, or ended unexpectedly.
#pragma once

#include "residency/core/failures.h"
#include "residency/core/lifecycle.h"
#include "residency/core/pins.h"
#include "residency/core/step.h"
#include "residency/core/waiters.h"
#include "residency/event.h"
#include "residency/state.h"

namespace corral::residency {

class ProcessEvents {
 public:
  ProcessEvents(State& state, Lifecycle& lifecycle, Pins& pins, Waiters& waiters, Failures& failures)
      : state_(state), lifecycle_(lifecycle), pins_(pins), waiters_(waiters), failures_(failures) {}

  // True: decisions may change.
  bool handle(const LoadSucceeded& event, const Step& step);
  bool handle(const LoadFailed& event, const Step& step);
  bool handle(const InstanceDied& event, const Step& step);
  bool handle(const InstanceStopped& event, const Step& step);
  // Aborts the running load if its deadline has passed.
  void abort_overdue(const Step& step);

 private:
  bool end(InstanceId id, const InstanceDied& death, const Step& step);

  State& state_;
  Lifecycle& lifecycle_;
  Pins& pins_;
  Waiters& waiters_;
  Failures& failures_;
};

}  // namespace corral::residency
