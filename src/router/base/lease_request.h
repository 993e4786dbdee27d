// The parameters of a lease, in parts. Each LeaseProvider reads the parts that concern it and passes all of them on.
// Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "protocol/ask.h"
#include "residency/types.h"
#include "router/base/identities.h"

namespace corral::router {

// A request that is checked before a model is evicted for it (request_checks.h).
struct AskedRequest {
  protocol::Ask ask = protocol::Ask::chat;
  std::string body;    // JSON, canonical
  std::string client;  // its tag (client_tag.h)
};

// An engine's answer to a request that can't succeed: a fact of the corresponding error.
struct RefusedRequest {
  unsigned status = 400;
  std::string body;
};

// The context that the conversation needs. Read by ModelRouter; sent to peers.
struct WantedContext {
  std::uint64_t tokens = 0;  // 0: any size
  // True: a model with a smaller context is reloaded with this one. False: the request gets the context that the model
  // has, or that a load gives it by default.
  bool may_reload = true;
};

// The sender. Read by PeerLeaseProvider, ModelRouter and fleet::SplitLeaseProvider.
struct Requester {
  residency::RequestOrigin origin = residency::RequestOrigin::local;
  NodeRef peer = {};   // the node of a peer's request: the number of waiting requests per peer is limited
  bool waits = false;  // no other node can serve it: it may wait for a load of another model, see PeerLeaseProvider
};

// How it is answered. Sent to peers.
struct Streaming {
  bool wanted = false;
  std::optional<Millis> ping_interval = {};  // as of ForwardRequest
};

// Node selection in a mesh. Read by fleet::PeerCalls.
struct NodePreference {
  std::uint64_t conversation = 0;    // the same number for all requests of a conversation; 0: unknown
  std::vector<NodeRef> avoid = {};   // nodes that refused this request
  std::vector<NodeRef> absent = {};  // nodes that do not have the model now (residency::errc::not_here)
  std::vector<NodeRef> ended = {};   // nodes that lost it, or whose process ended: only if no other node can serve it
};

struct LeaseRequest {
  WantedContext context = {};
  Requester requester = {};
  Streaming streaming = {};
  NodePreference nodes = {};
  std::shared_ptr<const AskedRequest> asked = {};  // empty: it isn't checked before a load
};

}  // namespace corral::router
