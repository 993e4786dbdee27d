// Leases on models of the whole mesh: this machine's own come first, exactly as they would without a mesh; models that
// only others have, or that this machine has no room for, are lent by the node that the chooser names.
//
// A model that is going to be held by several nodes is waited for, a few seconds, if nobody can serve it yet.
//
// Only the node that a request came to chooses. Peers that are asked serve or say no (peer_request_handler.h), and
// never ask further.
#pragma once

#include "fleet/base/demand.h"
#include "fleet/base/split_book.h"
#include "fleet/requests/peer_calls.h"
#include "router/base/lease.h"

namespace corral::fleet {

// On any loop.
class MeshLeaseProvider final : public router::LeaseProvider {
 public:
  // All must outlive the lender and its leases.
  MeshLeaseProvider(router::LeaseProvider& local, PeerCalls& calls, DemandMeter& demand, SplitBook& splits,
                    async::Timers& timers)
      : local_(local), calls_(calls), demand_(demand), splits_(splits), timers_(timers) {}

  router::Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override;
  async::Task<Result<router::Lease>> acquire(backends::ModelPtr model, router::LeaseRequest request) override;
  // Of what came to this node, wherever it was answered.
  void count(router::RequestEnd end) override {
    if (!end.quarantined) demand_.count(end.model);
    local_.count(std::move(end));
  }

 private:
  async::Task<Result<router::Lease>> far(backends::ModelPtr model, router::LeaseRequest request);
  async::Task<Result<router::Lease>> far_or_soon(backends::ModelPtr model, router::LeaseRequest request);
  async::Task<Result<router::Lease>> here_or_far(backends::ModelPtr model, router::LeaseRequest request);

  router::LeaseProvider& local_;
  PeerCalls& calls_;
  DemandMeter& demand_;
  SplitBook& splits_;
  async::Timers& timers_;
};

}  // namespace corral::fleet
