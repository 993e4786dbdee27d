// Makes lent instances local: one that was loaded for a peer belongs to this node as soon as a local request uses it.
#pragma once

#include "residency/core/lifecycle.h"
#include "residency/core/step.h"
#include "residency/state.h"

namespace corral::residency {

class Adoption {
 public:
  Adoption(State& state, Lifecycle& lifecycle) : state_(state), lifecycle_(lifecycle) {}

  // A local request uses it: it takes a slot, if need be that of an idle model. False if it stays lent because no slot
  // can be had; it serves local requests all the same.
  bool adopt(Instance& instance, const Step& step);
  // Whatever the slots say.
  void make_local(Instance& instance);
  // How it is evicted from now on; while it is lent, the limits of lent models apply too.
  void set_eviction(Instance& instance, const EvictionSettings& wish);

 private:
  State& state_;
  Lifecycle& lifecycle_;
};

}  // namespace corral::residency
