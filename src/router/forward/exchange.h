// One attempt of a request: sends it, and reads as much of the answer as makes it valid. Only this file knows the
// differences between whole answers, streams and uploads.
//
//   held     JSON answers are read to their end, so that a request whose backend dies meanwhile can be sent again;
//            sound and pictures pass
//   stream   the answer counts from its head on; one that says no is read to its end
//   upload   the body is pulled as it goes out; else as a stream
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
  // The answer. Errors: of the connection, or of the client's own body.
  virtual async::Task<Result<http::Response>> run(http::Target& target, const http::RequestHead& head) = 0;
  // After a failure: whether the request is still there to be sent again.
  virtual bool sendable() const { return true; }
  // What went wrong with the client's body in the last run: that isn't the backend's fault.
  virtual std::optional<Error> client_error() const { return std::nullopt; }
  // Whether this answer says that its backend has survived the request.
  virtual bool settles(const http::Response& answer) const = 0;
};

// The one that fits the request, which must outlive it.
std::unique_ptr<Exchange> make_exchange(ForwardRequest& request);

}  // namespace corral::router
