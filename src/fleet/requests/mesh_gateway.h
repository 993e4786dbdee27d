// Connects the router to other nodes: leases at peers, and the handler for requests of peers. One object beside the
// router; costs nothing while the node is in no mesh.
//
//   Traffic traffic(mesh_loop, loops, timers, router, shelf, newest);
//   router::Forwarder forwarder(traffic.lender(), timers);      // instead of the router itself
//   context.elsewhere = &traffic.elsewhere();
//   ... on the mesh's loop, when this node becomes a member, and when it is one no more:
//   traffic.crossing().attach(peers);    traffic.crossing().detach();
#pragma once

#include "fleet/requests/mesh_lease_provider.h"
#include "fleet/requests/mesh_routes.h"
#include "fleet/requests/peer_request_handler.h"
#include "fleet/requests/split_lender.h"
#include "http/server.h"
#include "router/peer_lease_provider.h"

namespace corral::fleet {

struct MeshGatewayOptions {
  PeerRequestLimits handler = {};
  http::ServerOptions server = {};  // of the door; bounds of heads and bodies, and paces
};

// Everything that it is made of outlives it.
class MeshGateway {
 public:
  // `mesh` is the mesh's loop, `loops` those of the servers, of which the first is the router's home. `newest`: as of
  // Routes.
  MeshGateway(async::Executor mesh, async::LoopPool& loops, async::Timers& timers, router::ModelRouter& router,
              const LocalModels& local_models, MeshRoutes::Newest newest, MeshGatewayOptions options = {});

  router::LeaseProvider& lender() { return lender_; }
  const RemoteModels& elsewhere() const { return routes_; }
  PeerTransport& transport() { return transport_; }
  const PeerCalls& calls() const { return calls_; }
  DemandMeter& demand() { return demand_; }
  // What requests know of models that several nodes hold together; told from any thread.
  SplitBook& splits() { return splits_; }

  // Takes no more requests of peers, lets those that are here finish until `deadline`, then cuts them without a word:
  // that is what makes their own nodes ask somebody else. On the home loop.
  async::Task<void> close(Millis deadline) { return server_.stop(deadline); }
  // After that and after PeerTransport::detach(), once no request waits for a peer any more. On the mesh's loop.
  async::Task<void> stop();

 private:
  MeshRoutes routes_;
  PeerTransport transport_;
  PeerCalls calls_;
  DemandMeter demand_;
  SplitBook splits_;
  SplitLender own_splits_;
  MeshLeaseProvider lender_;
  router::PeerLeaseProvider for_peers_;
  SplitLender splits_for_peers_;
  PeerRequestHandler handler_;
  http::Server server_;
};

}  // namespace corral::fleet
