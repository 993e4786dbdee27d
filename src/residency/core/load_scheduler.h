// Decides for the load queue: which load starts, and which instances stop or are downsized for waiting loads.
//
// Goes through the queue from the front and decides anew each time; it remembers only how long a load has waited. So a
// victim that is no longer needed returns automatically, and changed pins and limits need no code of their own.
#pragma once

#include <vector>

#include "residency/core/adoption.h"
#include "residency/core/failures.h"
#include "residency/core/lifecycle.h"
#include "residency/core/load_queue.h"
#include "residency/core/pins.h"
#include "residency/core/preflight.h"
#include "residency/core/step.h"
#include "residency/core/waiters.h"
#include "residency/eviction_plan.h"
#include "residency/state.h"

namespace corral::residency {

struct Decision {
  Instance* start = nullptr;    // the load that starts now
  std::vector<Victim> victims;  // drain from now on, or keep draining
  std::vector<Instance*> downsizes;
  bool sample = false;            // a memory sample is needed before further decisions
  std::vector<Instance*> checks;  // loads that need a preflight before further decisions
};

class LoadScheduler {
 public:
  LoadScheduler(State& state, Preflight& preflight, Lifecycle& lifecycle, Adoption& adoption, Pins& pins,
                Waiters& waiters, LoadQueue& queue, Failures& failures);

  // Completes the loads that need not start: their model is in memory again, or waiting doesn't help them.
  void settle(const Step& step);
  // One pass over the queue. Changes only the record of the wait: since when, and for which instances.
  Decision decide(MonoTime now);
  // Instances that drain for a load that no longer needs them serve again. True if there were any: then the decision
  // must be made anew.
  bool undrain_others(const Decision& decision);

  // Whether a load that started now might evict or downsize a model; see Core::may_evict.
  bool may_evict(const SpecPtr& spec, MonoTime now) const;

 private:
  bool settle_one(const Step& step);
  bool serve_by_current(Instance& load, const Step& step);
  bool add_victims(const Instance& load, const EvictionPlan& plan, bool may_start, bool idle, MonoTime now,
                   Decision& decision) const;
  bool stops_slowly(const Instance& instance, MonoTime now) const;
  void forget_gone(Instance& load) const;
  void note_victims(Instance& load, const EvictionPlan& plan);

  State& state_;
  Preflight& preflight_;
  Lifecycle& lifecycle_;
  Adoption& adoption_;
  Pins& pins_;
  Waiters& waiters_;
  LoadQueue& queue_;
  Failures& failures_;
};

}  // namespace corral::residency
