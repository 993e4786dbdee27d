// One attempt of a request: sends it, and reads enough of the response to know that it is valid. Only this file knows
// the differences between whole responses, streams and uploads.
//
//   held     JSON is read to its end, so that the request can be sent again if its backend dies; audio and images pass
//   stream   valid from its head on; an error status is read to its end
//   upload   the body is pulled while it is sent; otherwise like a stream
#pragma once

#include <memory>
#include <optional>

#include "async/task.h"
#include "http/target.h"
#include "router/forward/forward_request.h"

namespace corral::router {

// On the loop of the request.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // The response. Errors: of the connection, or of the client's own body.
  virtual async::Task<Result<http::Response>> run(http::Target& target, const http::RequestHead& head) = 0;
  // After a failure: whether the request can be sent again.
  virtual bool sendable() const { return true; }
  // Failure of the client's body in the last run: not the backend's fault.
  virtual std::optional<Error> client_error() const { return std::nullopt; }
  // Whether this response proves that the backend has survived the request.
  virtual bool settles(const http::Response& answer) const = 0;
};

// The right kind for the request, which must outlive it.
std::unique_ptr<Exchange> make_exchange(ForwardRequest& request);

}  // namespace corral::router
