// Somewhere a request can be sent: an engine child, another backend, a mesh peer, a fake. The request's body is
// complete or pulled as it goes out; the answer streams.
#pragma once

#include <string_view>

#include "async/task.h"
#include "base/error.h"
#include "http/handler.h"

namespace corral::http {

class Target {
 public:
  virtual ~Target() = default;
  // Returns once the answer's head is there. Dropping the answer, or cancelling, tells the other side to stop.
  virtual async::Task<Result<Response>> send(const RequestHead& head, std::string_view body) = 0;
  // The same with a body that is pulled no faster than the other side takes it: never held whole, never sent twice. An
  // answer that comes before all was sent ends the sending: the other side has made up its mind. Errors: those of
  // `body` too.
  virtual async::Task<Result<Response>> upload(const RequestHead& head, BodySource& body) = 0;
};

}  // namespace corral::http
