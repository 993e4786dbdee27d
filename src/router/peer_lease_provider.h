// The models of this machine, lent to others of its mesh: a LeaseProvider whose every request is a peer's. Whoever
// serves peers gives it to its forwarder, so that what peers get is bounded by what the owner can spare
// (residency/lending.h). Safe on any loop, as the router is.
#pragma once

#include <map>
#include <mutex>

#include "async/timer.h"
#include "router/model_router.h"

namespace corral::router {

class PeerLeaseProvider final : public LeaseProvider {
 public:
  // Both must outlive it.
  PeerLeaseProvider(ModelRouter& router, async::Timers& timers) : router_(router), timers_(timers) {}

  Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override {
    return router_.try_acquire(model.name, context, residency::RequestOrigin::peer);
  }
  // One that waits (Requester::waits) does so while nothing is in the way but a load for another peer, for up to a
  // minute; of each Requester::peer eight at a time, and more are refused at once (residency::SoonHere). Errors:
  // residency::errc::not_here where it can't be served, besides those of ModelRouter::acquire.
  async::Task<Result<Lease>> acquire(backends::ModelPtr model, LeaseRequest request) override;
  void count(RequestEnd end) override { router_.count(std::move(end)); }

 private:
  class Waiting;

  ModelRouter& router_;
  async::Timers& timers_;
  std::mutex mutex_;
  std::map<NodeRef, std::size_t> waiting_;  // of each peer
};

}  // namespace corral::router
