// Requests of other nodes of the mesh, and loads for them.
//
// A loaded model serves a peer request like any other. A load for a peer never waits behind local loads: it starts at
// once by the rules of lending.h, or is refused (errc::not_here). At most one exists, outside of the queue, so that no
// local load waits behind it.
#pragma once

#include <optional>

#include "residency/core/adoption.h"
#include "residency/core/leases.h"
#include "residency/core/lifecycle.h"
#include "residency/core/memory_watch.h"
#include "residency/core/preflight.h"
#include "residency/core/step.h"
#include "residency/core/waiters.h"
#include "residency/event.h"
#include "residency/state.h"

namespace corral::residency {

class PeerRequests {
 public:
  PeerRequests(State& state, Preflight& preflight, Lifecycle& lifecycle, Adoption& adoption, Leases& leases,
               Waiters& waiters, MemoryWatch& watch);

  // True: decisions may change.
  bool handle(const Acquire& event, const Step& step);
  // Whether try_acquire may grant a peer's request, or a request on a lent instance. A local request on a lent instance
  // makes it local if there is a slot for it: Acquire does that.
  bool may_share(const Instance& instance, RequestOrigin origin, MonoTime now) const;

  // A local load of this model starts: drops a load for a peer that hasn't started.
  void give_way(const ModelName& name, const Step& step);
  // Starts the load for a peer, or stops victims for it, or refuses it.
  void advance(const Step& step);

 private:
  std::optional<Error> refusal(const ModelSpec& spec, MonoTime now) const;
  std::optional<Error> load_refusal(const ModelSpec& spec, const Model* model, MonoTime now) const;
  Error busy_loading(const ModelName& model) const;
  void drop_load(const Error& error, const Step& step);

  State& state_;
  Preflight& preflight_;
  Lifecycle& lifecycle_;
  Adoption& adoption_;
  Leases& leases_;
  Waiters& waiters_;
  MemoryWatch& watch_;
};

}  // namespace corral::residency
