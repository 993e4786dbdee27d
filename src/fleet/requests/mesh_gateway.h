// Makes and connects the parts between the router and other nodes; no request passes through this class. One object
// beside the router; costs nothing while the node is in no mesh. A request to a peer: mesh_lease_provider.h,
// peer_calls.h, peer_upstream.h. A request of a peer: peer_request_handler.h.
//
//   MeshGateway gateway(mesh_loop, loops, timers, router, local_models, newest);
//   router::Forwarder forwarder(gateway.provider(), timers);      // instead of the router itself
//   context.elsewhere = &gateway.elsewhere();
//   ... on the mesh's loop, when this node becomes a member, and when it is no longer one:
//   gateway.transport().attach(peers);    gateway.transport().detach();
#pragma once

#include "fleet/requests/mesh_lease_provider.h"
#include "fleet/requests/mesh_routes.h"
#include "fleet/requests/peer_request_handler.h"
#include "fleet/requests/split_lease_provider.h"
#include "http/server.h"
#include "router/peer_lease_provider.h"

namespace corral::fleet {

struct MeshGatewayOptions {
  PeerRequestLimits handler = {};
  http::ServerOptions server = {};  // of the server for peers; limits of heads and bodies, and minimum rates
};

// All constructor arguments outlive it.
class MeshGateway {
 public:
  // `mesh` is the mesh's loop, `loops` those of the servers; the first one is the router's home. `newest`: as in
  // MeshRoutes.
  MeshGateway(async::Executor mesh, async::LoopPool& loops, async::Timers& timers, router::ModelRouter& router,
              const LocalModels& local_models, MeshRoutes::Newest newest, MeshGatewayOptions options = {});

  router::LeaseProvider& provider() { return provider_; }
  const RemoteModels& elsewhere() const { return routes_; }
  PeerTransport& transport() { return transport_; }
  const PeerCalls& calls() const { return calls_; }
  DemandMeter& demand() { return demand_; }
  // State of split models for requests; set from any thread.
  SplitTable& splits() { return splits_; }

  // Accepts no more requests of peers, and lets running ones finish until `deadline`. Then it cuts their connections
  // without an answer, so that their entry nodes ask another node. On the home loop.
  async::Task<void> close(Millis deadline) { return server_.stop(deadline); }
  // After close() and PeerTransport::detach(), once no request waits for a peer. On the mesh's loop.
  async::Task<void> stop();

 private:
  MeshRoutes routes_;
  PeerTransport transport_;
  PeerCalls calls_;
  DemandMeter demand_;
  SplitTable splits_;
  SplitLeaseProvider own_splits_;
  MeshLeaseProvider provider_;
  router::PeerLeaseProvider for_peers_;
  SplitLeaseProvider splits_for_peers_;
  PeerRequestHandler handler_;
  http::Server server_;
};

}  // namespace corral::fleet
