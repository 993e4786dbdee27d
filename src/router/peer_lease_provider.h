// A LeaseProvider for requests of peers, which get only what local requests leave free (residency/lending.h). The
// forwarder of peer requests uses it. Safe on any loop, like the router.
#pragma once

#include <map>

#include "async/timer.h"
#include "base/mutex.h"
#include "router/model_router.h"

namespace corral::router {

class PeerLeaseProvider final : public LeaseProvider {
 public:
  // Both must outlive it.
  PeerLeaseProvider(ModelRouter& router, async::Timers& timers) : router_(router), timers_(timers) {}

  Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override {
    return router_.try_acquire(model.name, context, residency::RequestOrigin::peer);
  }
  // A request that may wait (Requester::waits) waits up to a minute while only a load for another peer is in the way
  // (residency::SoonHere). At most eight wait for each Requester::peer; further ones are refused at once. Errors:
  // residency::errc::not_here, and those of ModelRouter::acquire.
  async::Task<Result<Lease>> acquire(backends::ModelPtr model, LeaseRequest request) override;
  void count(RequestEnd end) override { router_.count(std::move(end)); }

 private:
  class Waiting;

  ModelRouter& router_;
  async::Timers& timers_;
  Mutex mutex_;
  std::map<NodeRef, std::size_t> waiting_ GUARDED_BY(mutex_);  // of each peer
};

}  // namespace corral::router
