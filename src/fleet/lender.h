// Leases on models of the whole mesh: this machine's own come first, exactly as they would without a mesh; models that
// only others have, or that this machine has no room for, are lent by the node that the chooser names.
//
// Only the node that a request came to chooses. Peers that are asked serve or say no (door.h), and never ask further.
#pragma once

#include "fleet/peer_calls.h"
#include "router/lease.h"

namespace corral::fleet {

// On any loop.
class FleetLender final : public router::Lender {
 public:
  // Both must outlive the lender and its leases.
  FleetLender(router::Lender& local, PeerCalls& calls) : local_(local), calls_(calls) {}

  router::Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override;
  async::Task<Result<router::Lease>> acquire(backends::ModelPtr model, router::ContextWish wish) override;
  void count(router::RequestEnd end) override { local_.count(std::move(end)); }

 private:
  async::Task<Result<router::Lease>> far(backends::ModelPtr model, router::ContextWish wish);
  async::Task<Result<router::Lease>> here_or_far(backends::ModelPtr model, router::ContextWish wish);

  router::Lender& local_;
  PeerCalls& calls_;
};

}  // namespace corral::fleet
