// The answer of an external program on its way to the client: it holds the request's place in the gate, and ends when
// the request has to end.
#pragma once

#include <memory>

#include "async/task.h"
#include "backends/external/request_gate.h"
#include "backends/external/request_limit.h"
#include "http/handler.h"

namespace corral::backends {

// One request to a program. On its loop.
struct ExternalRequest {
  async::Executor executor;
  std::shared_ptr<WatchedRequest> watched;
  RequestGate::Place place = {};  // until the end of the answer
};

// The same answer; the lines of its events end with "\n", as everything behind expects. Errors of its body: also
// external::errc::stalled, backends::errc::backend_died.
http::Response passed_answer(http::Response answer, ExternalRequest request);

}  // namespace corral::backends
