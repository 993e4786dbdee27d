// Leases on split models that this node hosts. A request for a group that doesn't serve yet waits for it, and gets the
// reason if the group fails. The inner provider handles all other models.
//
//   MeshLeaseProvider  ──► SplitLeaseProvider ──► ModelRouter         requests of this node's clients
//   PeerRequestHandler ──► SplitLeaseProvider ──► PeerLeaseProvider   requests of peers
//
// Requests can't load a held model (GroupProcesses::hold). After the end of its engine they wait here for the next one.
#pragma once

#include "async/timer.h"
#include "fleet/base/split_table.h"
#include "router/base/lease.h"
#include "router/base/upstream.h"

namespace corral::fleet {

// On any loop.
class SplitLeaseProvider final : public router::LeaseProvider {
 public:
  // All must outlive it.
  SplitLeaseProvider(router::LeaseProvider& inner, SplitTable& splits, async::Timers& timers)
      : inner_(inner), splits_(splits), timers_(timers) {}

  router::Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override {
    return inner_.try_acquire(model, context);
  }
  // Errors: nowhere, with what is short or the node that refused, and retry_after; those of the inner provider.
  async::Task<Result<router::Lease>> acquire(backends::ModelPtr model, router::LeaseRequest request) override;
  void count(router::RequestEnd end) override { inner_.count(std::move(end)); }

 private:
  router::LeaseProvider& inner_;
  SplitTable& splits_;
  async::Timers& timers_;
};

}  // namespace corral::fleet
