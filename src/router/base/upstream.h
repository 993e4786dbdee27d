// The interface between a request and its upstream: a process of this machine, a peer or another server.
//
// Code that forwards requests knows only this of models in memory: where to get a lease, where to send requests, and
// how to wait for the end of the upstream.
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

// How an upstream has ended.
struct UpstreamExit {
  std::string how;           // text for users
  std::uint64_t number = 0;  // of the upstream; unique within one LeaseProvider
  std::size_t requests = 0;  // that it worked on; 0: they are not the cause, for example if it was stopped
  bool intentional = false;  // it was stopped on purpose; false if unknown
  std::shared_ptr<const backends::LastWork> work = {};  // null: unknown
};

// How a request of another node failed (ForwardRequest::once): a fact of its error.
struct ForwardFailure {
  bool unbegun = false;                // no backend has seen it: other nodes may be tried
  std::optional<UpstreamExit> ending;  // a process ended under it
};

// Serves requests for one model. Shared by its leases; lives as long as one of them.
class Upstream {
 public:
  virtual ~Upstream() = default;
  // The target of requests. For use on `executor`'s loop.
  virtual http::Target& target(async::Executor executor) = 0;
  // Tokens that one conversation may have; 0: unknown.
  virtual std::uint64_t context() const = 0;
  virtual NodeRef node() const { return {}; }
  // Returns when it has ended. On any loop; may be cancelled.
  virtual async::Task<UpstreamExit> wait_for_exit() = 0;
  // A streamed response starts or ends. On any loop.
  virtual void stream_began() = 0;
  virtual void stream_ended() = 0;
};

class Lease;

// Source of leases. On any loop.
class LeaseProvider {
 public:
  virtual ~LeaseProvider() = default;
  // Only if the model can take the request at once and this is the right loop; else an empty lease. `context`: tokens
  // that the request needs for its conversation; 0: any number.
  virtual Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) = 0;
  // A lease on the model, which is loaded first if need be. Cancellation ends the wait in the queue.
  virtual async::Task<Result<Lease>> acquire(backends::ModelPtr model, LeaseRequest request) = 0;
  // A request has ended.
  virtual void count(RequestEnd end) = 0;
};

}  // namespace corral::router
