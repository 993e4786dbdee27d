// Serves requests of peers: canonical inference requests, answered by this machine only. It is the handler of a
// separate server, whose connections are bridges from peers (Request::peer is the text of a node id).
//
// A peer names its model by name and content. The request is served by the rules for peers or answered 421 at once; it
// is never sent to a third node and never repeated here. All other paths are 404. Of the request's head only
// PeerRequestInfo and the client tag are read. Fairness counts requests by node and tag, so that clients of all nodes
// get equal turns.
//
// While a request is here, heartbeats to its node list its number.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "async/timer.h"
#include "fleet/base/split_table.h"
#include "fleet/requests/peer_headers.h"
#include "fleet/requests/peer_transport.h"
#include "http/handler.h"
#include "models/catalog.h"
#include "router/forward/forwarder.h"

namespace corral::fleet {

// The models on this node's disk. On any loop.
class LocalModels {
 public:
  virtual ~LocalModels() = default;
  // Errors: those of models::Catalog.
  virtual Result<models::Catalog::Model> find(std::string_view name) const = 0;
  // SHA-256 of the model's files in hexadecimal digits; empty: not computed yet.
  virtual std::string content_of(const models::ModelInfo& model) const = 0;
};

struct PeerRequestLimits {
  std::size_t max_requests = 32;  // of one node at a time
  std::uint64_t max_body_bytes = 32ull << 20;
};

// On the loops of its server. `local` provides leases for peers, on the loop `home` at once. All constructor arguments
// outlive the handler and its responses.
class PeerRequestHandler final : public http::Handler {
 public:
  PeerRequestHandler(router::LeaseProvider& local, async::Executor home, const LocalModels& local_models,
                     const SplitTable& splits, PeerTransport& transport, async::Timers& timers,
                     PeerRequestLimits options = {});
  ~PeerRequestHandler() override;

  async::Task<http::Response> handle(http::Request request) override;
  // Requests of peers that are here. On any loop.
  router::RequestTable& requests() { return forwarder_.requests(); }

 private:
  class InboundRequest;
  struct InboundRequests;  // requests that are here, by node

  async::Task<http::Response> serve(http::Request request, const protocol::AskRow& row, PeerRequestInfo info,
                                    models::Catalog::Model model, std::shared_ptr<InboundRequest> counted);
  // Whether requests of the node may load this model, if it isn't in memory. Requests don't load split models.
  async::Task<Result<>> may_load(const mesh::NodeId& node, const models::ModelInfo& model, std::uint64_t context,
                                 std::shared_ptr<InboundRequest> counted);

  router::LeaseProvider& local_;
  const async::Executor home_;
  const LocalModels& local_models_;
  const SplitTable& splits_;
  PeerTransport& transport_;
  const PeerRequestLimits options_;
  const std::shared_ptr<InboundRequests> inbound_;
  router::Forwarder forwarder_;
};

}  // namespace corral::fleet
