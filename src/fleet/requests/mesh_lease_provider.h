// Leases on models of the whole mesh. Local models come first, exactly as outside a mesh. The selected node serves
// models that only other nodes have, or for which this machine has no capacity.
//
// If no node can serve a model that is split or going to be, requests wait for its group a few seconds, and then get
// an error that is never final (503).
//
// Only the entry node selects. Peers serve or refuse (peer_request_handler.h), and never ask other nodes.
#pragma once

#include "fleet/base/demand.h"
#include "fleet/base/split_table.h"
#include "fleet/requests/peer_calls.h"
#include "router/base/lease.h"

namespace corral::fleet {

// On any loop.
class MeshLeaseProvider final : public router::LeaseProvider {
 public:
  // All must outlive the provider and its leases.
  MeshLeaseProvider(router::LeaseProvider& local, PeerCalls& calls, DemandMeter& demand, SplitTable& splits,
                    async::Timers& timers)
      : local_(local), calls_(calls), demand_(demand), splits_(splits), timers_(timers) {}

  router::Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override;
  async::Task<Result<router::Lease>> acquire(backends::ModelPtr model, router::LeaseRequest request) override;
  // Counts requests of this node's clients, whichever node served them.
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
  SplitTable& splits_;
  async::Timers& timers_;
};

}  // namespace corral::fleet
