// Inference requests of this node's own clients. A request uses the loaded instance, whatever its options, or joins the
// load of its model, or starts one.
#pragma once

#include "residency/core/adoption.h"
#include "residency/core/leases.h"
#include "residency/core/load_queue.h"
#include "residency/core/peer_requests.h"
#include "residency/core/step.h"
#include "residency/core/waiters.h"
#include "residency/event.h"
#include "residency/state.h"

namespace corral::residency {

class LocalRequests {
 public:
  LocalRequests(State& state, Adoption& adoption, Leases& leases, Waiters& waiters, LoadQueue& queue,
                PeerRequests& peers)
      : state_(state), adoption_(adoption), leases_(leases), waiters_(waiters), queue_(queue), peers_(peers) {}

  // True: decisions may change.
  bool handle(const Acquire& event, const Step& step);

 private:
  std::optional<Error> load_refusal(const ModelSpec& spec, MonoTime now) const;

  State& state_;
  Adoption& adoption_;
  Leases& leases_;
  Waiters& waiters_;
  LoadQueue& queue_;
  PeerRequests& peers_;
};

}  // namespace corral::residency
