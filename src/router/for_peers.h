// The models of this machine, lent to others of its mesh: a Lender whose every request is a peer's. Whoever serves
// peers gives it to its forwarder, so that what peers get is bounded by what the owner can spare (residency/lending.h).
// Safe on any loop, as the router is; allocates nothing.
#pragma once

#include "router/model_router.h"

namespace corral::router {

class ForPeers final : public Lender {
 public:
  // `router` must outlive it.
  explicit ForPeers(ModelRouter& router) : router_(router) {}

  Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override {
    return router_.try_acquire(model.name, context, residency::Origin::peer);
  }
  // Errors: residency::errc::not_here where it can't be served at once, besides those of ModelRouter::acquire.
  async::Task<Result<Lease>> acquire(backends::ModelPtr model, ContextWish context) override {
    context.origin = residency::Origin::peer;
    context.may_change = false;
    return router_.acquire(std::move(model), context);
  }
  void count(RequestEnd end) override { router_.count(std::move(end)); }

 private:
  ModelRouter& router_;
};

}  // namespace corral::router
