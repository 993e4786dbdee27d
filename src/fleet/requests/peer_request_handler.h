// What other nodes may ask of this one: canonical requests of inference, answered by this machine or not at all. The
// handler of a server of its own, whose connections are bridges from peers (Request::peer is the text of a node id).
//
// A peer says which model it means by name and content. It is served by the rules for peers, or told 421 at once; never
// passed on to a third node, never asked again here. All other paths don't exist, and of a request's head nothing but
// its errand and its client tag is looked at: whose request it is counts by node and tag, so that clients of all nodes
// get equal turns.
//
// While a request is here, heartbeats to its node list its number.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "async/timer.h"
#include "fleet/requests/peer_headers.h"
#include "fleet/requests/peer_transport.h"
#include "http/handler.h"
#include "models/catalog.h"
#include "router/forward/forwarder.h"

namespace corral::fleet {

// What this node has on disk. On any loop.
class LocalModels {
 public:
  virtual ~LocalModels() = default;
  // Errors: those of models::Catalog.
  virtual Result<models::Catalog::Model> find(std::string_view name) const = 0;
  // SHA-256 of its contents in hexadecimal digits; empty: not computed yet.
  virtual std::string content_of(const models::ModelInfo& model) const = 0;
};

struct PeerRequestLimits {
  std::size_t max_requests = 32;  // of one node at a time
  std::uint64_t max_body_bytes = 32ull << 20;
};

// On the loops of its server. `local` is what peers may lease, `home` the loop on which that answers at once; all that
// it is made of outlives the door and the answers it returns.
class PeerRequestHandler final : public http::Handler {
 public:
  PeerRequestHandler(router::LeaseProvider& local, async::Executor home, const LocalModels& local_models,
                     PeerTransport& transport, async::Timers& timers, PeerRequestLimits options = {});
  ~PeerRequestHandler() override;

  async::Task<http::Response> handle(http::Request request) override;
  // Those that are here. On any loop.
  router::RequestTable& requests() { return forwarder_.requests(); }

 private:
  class Visit;
  struct Guests;  // who is here, by node

  async::Task<http::Response> serve(http::Request request, const protocol::AskRow& row, PeerRequestInfo errand,
                                    models::Catalog::Model model, std::shared_ptr<Visit> visit);
  // Whether the node may have this model loaded, if it isn't in memory.
  async::Task<Result<>> may_load(const mesh::NodeId& node, const models::ModelInfo& model, std::uint64_t context,
                                 std::shared_ptr<Visit> visit);

  router::LeaseProvider& local_;
  const async::Executor home_;
  const LocalModels& local_models_;
  PeerTransport& transport_;
  const PeerRequestLimits options_;
  const std::shared_ptr<Guests> guests_;
  router::Forwarder forwarder_;
};

}  // namespace corral::fleet
