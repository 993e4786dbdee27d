// Makes lent instances local: an instance that was loaded for a peer becomes local when a local request uses it.
#pragma once

#include "residency/core/lifecycle.h"
#include "residency/core/step.h"
#include "residency/state.h"

namespace corral::residency {

class Adoption {
 public:
  Adoption(State& state, Lifecycle& lifecycle) : state_(state), lifecycle_(lifecycle) {}

  // For a local request: the instance takes a slot, if need be that of an idle model. False if it stays lent because
  // there is no slot; it serves the local request all the same.
  bool adopt(Instance& instance, const Step& step);
  // The same, even above the limit of slots.
  void make_local(Instance& instance);
  // Sets its eviction settings. While it is lent, the limits of lent models apply too.
  void set_eviction(Instance& instance, const EvictionSettings& settings);

 private:
  State& state_;
  Lifecycle& lifecycle_;
};

}  // namespace corral::residency
