// What a request wants of whoever gives it a lease, in parts: each Lender reads those that are its own business and
// hands all of them on. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "protocol/ask.h"
#include "residency/types.h"
#include "router/identities.h"

namespace corral::router {

// A request, to be checked before a model is evicted for it (request_checks.h).
struct AskedRequest {
  protocol::Ask ask = protocol::Ask::chat;
  std::string body;    // JSON, canonical
  std::string client;  // its tag (client_tag.h)
};

// An engine's answer to a request that can't succeed: a fact of the error that stands for it.
struct RefusedRequest {
  unsigned status = 400;
  std::string body;
};

// The context that its conversation is to have. Read by ModelRouter; peers are told.
struct WantedContext {
  std::uint64_t tokens = 0;  // 0: whatever there is
  // Whoever asks decides how models are loaded: one that has fewer is loaded anew, with more than it was told to have.
  // Without that, a request gets as many as the model has or would be given by itself.
  bool may_reload = true;
};

// Who asks. Read by ForPeers, ModelRouter and fleet::SplitLender.
struct Requester {
  residency::Origin origin = residency::Origin::local;
  NodeRef peer = {};   // that asks, of a peer's request: of each peer only so many wait
  bool waits = false;  // a peer's that nobody else can serve: for the end of another's load, see ForPeers
};

// How it is answered. Peers are told.
struct Streaming {
  bool wanted = false;
  std::optional<Millis> ping_interval = {};  // as of ForwardRequest
};

// Which node of a mesh is to answer. Read by fleet::PeerCalls.
struct NodePreference {
  std::uint64_t conversation = 0;   // the same number for requests of one conversation; 0: not known
  std::vector<NodeRef> avoid = {};  // those that failed this request, or wouldn't take it
};

struct LeaseRequest {
  WantedContext context = {};
  Requester requester = {};
  Streaming streaming = {};
  NodePreference nodes = {};
  std::shared_ptr<const AskedRequest> asked = {};  // none: it isn't checked before a load
};

}  // namespace corral::router
