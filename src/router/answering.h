// The seam between a request and whoever answers it: today a process of this machine, as well a peer or another server.
//
// Who forwards requests knows no more of models in memory than this: where to get a lease, where its requests go, and
// how to hear that whoever answered has gone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "backends/wrapped_server.h"
#include "http/target.h"
#include "protocol/ask.h"
#include "residency/types.h"
#include "router/request_table.h"

namespace corral::router {

// How something that answered has ended.
struct Ending {
  std::string how;           // for people
  std::uint64_t number = 0;  // which one it was; no two of one Lender have the same
  std::size_t requests = 0;  // that it was working on; 0: none of them is why it went, as it was told to, say
  bool told = false;         // to go; false as well where that isn't known
  std::shared_ptr<const backends::LastWork> work = {};  // null: not known
};

// What became of a request that somebody else has sent on (ForwardRequest::once): a fact of its error.
struct Mishap {
  bool unbegun = false;          // no backend has seen it: it may be asked of others
  std::optional<Ending> ending;  // a process ended under it
};

// Something that answers requests for one model. Shared by its leases; lives as long as one of them.
class Answering {
 public:
  virtual ~Answering() = default;
  // Where to send requests. For use on `executor`'s loop.
  virtual http::Target& target(async::Executor executor) = 0;
  // Tokens that a conversation with it may have; 0: not known.
  virtual std::uint64_t context() const = 0;
  // Which node of a mesh it is, in words that its Lender knows; empty: this machine.
  virtual std::string_view place() const { return {}; }
  // Returns when it has gone. On any loop; may be cancelled.
  virtual async::Task<Ending> until_gone() = 0;
  // One answer more, or one less, that streams. On any loop.
  virtual void stream_began() = 0;
  virtual void stream_ended() = 0;
};

class Lease;

// A request, to be checked before a model is evicted for it.
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

// What a request wants of whoever answers: the context that its conversation is to have; and who asks.
struct ContextWish {
  ContextWish(std::uint64_t wanted = 0, bool change = true, residency::Origin from = residency::Origin::local)
      : tokens(wanted), may_change(change), origin(from) {}

  std::uint64_t tokens;  // 0: whatever there is
  // Whoever asks decides how models are loaded: one that has fewer is loaded anew, with more than it was told to have.
  // Without that, a request gets as many as the model has or would be given by itself.
  bool may_change;
  residency::Origin origin;
  bool waits = false;     // a peer's that nobody else can serve: for the end of another's load, see ForPeers
  std::string peer = {};  // whose it is then: of each peer only so many wait

  std::shared_ptr<const AskedRequest> asked = {};  // none: it isn't checked before a load

  // For whoever has the request answered at another node.
  bool stream = false;
  std::optional<Millis> ping_interval = {};  // as of ForwardRequest
  std::uint64_t conversation = 0;            // the same number for requests of one conversation; 0: not known
  std::vector<std::string> avoid = {};       // places that failed this request, or wouldn't take it
};

// Where leases come from. On any loop.
class Lender {
 public:
  virtual ~Lender() = default;
  // Only if the model can take the request at once and this loop is the right one to ask on; else an empty lease.
  // `context`: tokens that the request wants its conversation to have; 0: whatever there is.
  virtual Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) = 0;
  // A lease on the model, loading it first if need be. Cancelling gives up the place in the queue.
  virtual async::Task<Result<Lease>> acquire(backends::ModelPtr model, ContextWish context) = 0;
  // A request has ended.
  virtual void count(RequestEnd end) = 0;
};

}  // namespace corral::router
