// A receiver of requests: an engine process, another backend, a mesh peer, a fake. The request's body is complete or
// pulled while it is sent; the answer streams.
#pragma once

#include <string_view>

#include "async/task.h"
#include "base/error.h"
#include "http/handler.h"

namespace corral::http {

class Target {
 public:
  virtual ~Target() = default;
  // Returns after the answer's head. Destroying the answer, or cancelling, notifies the receiver to stop.
  virtual async::Task<Result<Response>> send(const RequestHead& head, std::string_view body) = 0;
  // The same with a body that is pulled no faster than the receiver reads: never held whole, never sent twice. An
  // answer before the end of the body ends the sending. Errors: those of `body` too.
  virtual async::Task<Result<Response>> upload(const RequestHead& head, BodySource& body) = 0;
};

}  // namespace corral::http
