// AllotActions over this machine's router. Loads work like the load of a peer request; only lent models are unloaded.
//
// Made and stopped on the home loop; load() and unload() are for the loop of the mesh.
#pragma once

#include <functional>

#include "async/loop.h"
#include "async/task_group.h"
#include "fleet/allotment/allotter.h"
#include "models/catalog.h"
#include "router/peer_lease_provider.h"

namespace corral::fleet {

class RouterAllotActions final : public AllotActions {
 public:
  using Find = std::function<Result<models::Catalog::Model>(std::string_view name)>;  // on this node's disk
  // All outlive it.
  RouterAllotActions(async::Loop& home, async::Executor mesh, async::Timers& timers, router::ModelRouter& router,
                     Find find)
      : home_(home),
        mesh_(mesh),
        router_(router),
        peers_(router, timers),
        find_(std::move(find)),
        tasks_(home.executor()) {}

  void load(ModelName model, std::function<void(Result<>)> done) override;
  void unload(ModelName model, Millis idle, bool drain, std::function<void(bool)> done) override;

  // Cancels running work, which is no longer reported.
  async::Task<void> stop();

 private:
  async::Task<void> load_now(ModelName model, std::function<void(Result<>)> done);
  async::Task<Result<>> lend(ModelName model);
  async::Task<void> unload_now(ModelName model, Millis idle, bool drain, std::function<void(bool)> done);
  async::Task<bool> give_back(ModelName model, Millis idle, bool drain);

  async::Loop& home_;
  const async::Executor mesh_;
  router::ModelRouter& router_;
  router::PeerLeaseProvider peers_;
  const Find find_;
  bool stopped_ = false;
  async::TaskGroup tasks_;
};

// The lent models of a router's report, for Allotter. Pure.
std::vector<LentModel> lent_models(const router::Report& report);

}  // namespace corral::fleet
