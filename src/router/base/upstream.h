// The seam between a request and whoever answers it: today a process of this machine, as well a peer or another server.
//
// Who forwards requests knows no more of models in memory than this: where to get a lease, where its requests go, and
// how to hear that whoever answered has gone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "async/task.h"
#include "backends/wrapped_server.h"
#include "http/target.h"
#include "router/base/identities.h"
#include "router/base/lease_request.h"
#include "router/base/request_table.h"

namespace corral::router {

// How something that answered has ended.
struct UpstreamExit {
  std::string how;           // for people
  std::uint64_t number = 0;  // which one it was; no two of one LeaseProvider have the same
  std::size_t requests = 0;  // that it was working on; 0: none of them is why it went, as it was told to, say
  bool told = false;         // to go; false as well where that isn't known
  std::shared_ptr<const backends::LastWork> work = {};  // null: not known
};

// What became of a request that somebody else has sent on (ForwardRequest::once): a fact of its error.
struct ForwardFailure {
  bool unbegun = false;                // no backend has seen it: it may be asked of others
  std::optional<UpstreamExit> ending;  // a process ended under it
};

// Something that answers requests for one model. Shared by its leases; lives as long as one of them.
class Upstream {
 public:
  virtual ~Upstream() = default;
  // Where to send requests. For use on `executor`'s loop.
  virtual http::Target& target(async::Executor executor) = 0;
  // Tokens that a conversation with it may have; 0: not known.
  virtual std::uint64_t context() const = 0;
  virtual NodeRef node() const { return {}; }
  // Returns when it has gone. On any loop; may be cancelled.
  virtual async::Task<UpstreamExit> wait_for_exit() = 0;
  // One answer more, or one less, that streams. On any loop.
  virtual void stream_began() = 0;
  virtual void stream_ended() = 0;
};

class Lease;

// Where leases come from. On any loop.
class LeaseProvider {
 public:
  virtual ~LeaseProvider() = default;
  // Only if the model can take the request at once and this loop is the right one to ask on; else an empty lease.
  // `context`: tokens that the request wants its conversation to have; 0: whatever there is.
  virtual Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) = 0;
  // A lease on the model, loading it first if need be. Cancelling gives up the place in the queue.
  virtual async::Task<Result<Lease>> acquire(backends::ModelPtr model, LeaseRequest request) = 0;
  // A request has ended.
  virtual void count(RequestEnd end) = 0;
};

}  // namespace corral::router
