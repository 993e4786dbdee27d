// Leases on models that this node hosts for several nodes: whoever asks for one that doesn't stand yet waits until it
// does, and is told why when it comes to nothing. All other models are the inner lender's business alone.
//
//   MeshLeaseProvider ──► SplitLender ──► ModelRouter        requests that came to this node
//   Door        ──► SplitLender ──► PeerLeaseProvider           those of other nodes
//
// A held model (GroupProcesses::hold) loads nothing by a request: one whose engine has just gone waits here for the
// next.
#pragma once

#include "async/timer.h"
#include "fleet/base/split_book.h"
#include "router/base/lease.h"
#include "router/base/upstream.h"

namespace corral::fleet {

// On any loop.
class SplitLender final : public router::LeaseProvider {
 public:
  // All must outlive it.
  SplitLender(router::LeaseProvider& inner, SplitBook& book, async::Timers& timers)
      : inner_(inner), book_(book), timers_(timers) {}

  router::Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override {
    return inner_.try_acquire(model, context);
  }
  // Errors: nowhere, with what is short or who refused, and when to ask again; those of the inner lender.
  async::Task<Result<router::Lease>> acquire(backends::ModelPtr model, router::LeaseRequest request) override;
  void count(router::RequestEnd end) override { inner_.count(std::move(end)); }

 private:
  router::LeaseProvider& inner_;
  SplitBook& book_;
  async::Timers& timers_;
};

}  // namespace corral::fleet
