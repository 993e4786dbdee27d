// Explicit loads: they change the options of a loaded model by a reload. Of several, the newest wins.
#pragma once

#include "residency/core/adoption.h"
#include "residency/core/lifecycle.h"
#include "residency/core/load_queue.h"
#include "residency/core/peer_requests.h"
#include "residency/core/pins.h"
#include "residency/core/preflight.h"
#include "residency/core/step.h"
#include "residency/core/waiters.h"
#include "residency/event.h"
#include "residency/state.h"

namespace corral::residency {

class ExplicitLoads {
 public:
  ExplicitLoads(State& state, Preflight& preflight, Lifecycle& lifecycle, Adoption& adoption, Pins& pins,
                Waiters& waiters, LoadQueue& queue, PeerRequests& peers);

  // True: decisions may change.
  bool handle(const Load& event, const Step& step);

 private:
  void keep(Instance& current, const Load& event, const Step& step);
  void change(Instance& load, const Load& event, const Step& step);

  State& state_;
  Preflight& preflight_;
  Lifecycle& lifecycle_;
  Adoption& adoption_;
  Pins& pins_;
  Waiters& waiters_;
  LoadQueue& queue_;
  PeerRequests& peers_;
};

}  // namespace corral::residency
