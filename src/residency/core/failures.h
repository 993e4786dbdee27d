// Effects of failed checks, failed loads and crashes under requests on the waiters and on the model.
//
// A load that failed with a fault that is worth a retry (LoadFault) is tried once more after all other models have
// stopped; faults of the model itself evict nothing. After repeated failure a model cools down (cooldown.h). Only
// waiters that requested the failed options get the error. A failed load for a peer evicts nothing, and only peers get
// its error.
#pragma once

#include "residency/core/lifecycle.h"
#include "residency/core/load_queue.h"
#include "residency/core/preflight.h"
#include "residency/core/step.h"
#include "residency/core/waiters.h"
#include "residency/event.h"
#include "residency/state.h"

namespace corral::residency {

class Failures {
 public:
  Failures(State& state, Preflight& preflight, Lifecycle& lifecycle, Waiters& waiters, LoadQueue& queue)
      : state_(state), preflight_(preflight), lifecycle_(lifecycle), waiters_(waiters), queue_(queue) {}

  // True: decisions may change.
  bool handle(const CheckFailed& event, const Step& step);
  // A load has failed, and its process is gone.
  void end_load(Instance& load, LoadFault fault, const Error& error, const Step& step);
  // A loaded instance has ended unexpectedly; called before it is removed.
  void note_end(const Instance& instance, const InstanceDied& death, const Step& step);
  // The options of this queued load failed, and their requesters got the error: it continues with the newest options of
  // the other waiters. It ends if there are none.
  void fall_back(Instance& load, const Step& step);

 private:
  void end_lent_load(Instance& load, LoadFault fault, const Error& error, const Step& step);
  void end_last_attempt(Instance& load, LoadFault fault, const Error& error, const Step& step);
  void retry(Instance& failed, Now now);
  void reject_cooling(Instance& load, const Step& step);

  State& state_;
  Preflight& preflight_;
  Lifecycle& lifecycle_;
  Waiters& waiters_;
  LoadQueue& queue_;
};

}  // namespace corral::residency
