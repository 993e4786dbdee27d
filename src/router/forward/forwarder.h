// Forwards a request to an upstream of its model, and the response back. Knows no dialect. request_attempts.h decides
// what is tried and how often. This file lists and counts requests and returns their responses.
//
// - Bodies pass unchanged both ways. JSON responses without streaming are held; everything else (events, audio, images)
//   passes piece by piece, as fast as the client reads, with its content type.
// - The backend learns whether two requests come from the same client, but not the client's identity (client_tag.h).
// - A stream that must wait for a load sends ": ping" from the first second on, or as its request says
//   (forwarded_stream.h). An earlier failure has a status.
// - Running requests are listed and can be cancelled by their id. A cancelled request gets 499, or its stream ends with
//   one framed error event.
#pragma once

#include <memory>

#include "http/handler.h"
#include "router/base/client_tag.h"
#include "router/base/request_table.h"
#include "router/forward/request_attempts.h"
#include "router/forward/request_quarantine.h"

namespace corral::router {

class Forwarder {
 public:
  // Both must outlive the forwarder and the answers it returns.
  Forwarder(LeaseProvider& provider, async::Timers& timers)
      : provider_(provider),
        timers_(timers),
        quarantine_(timers),
        requests_(timers, [&provider](RequestEnd end) { provider.count(std::move(end)); }) {}

  // On the loop of the client's connection. Errors: those of RequestAttempts; cancelled, shutting_down.
  async::Task<Result<http::Response>> forward(ForwardRequest request);
  // Running requests, and others that are listed with them. On any loop.
  RequestTable& requests() { return requests_; }

 private:
  using ActivePtr = std::shared_ptr<ActiveRequest>;
  using AttemptsPtr = std::unique_ptr<RequestAttempts>;

  static async::Task<Result<http::Response>> passed(AttemptsPtr attempts, ActivePtr active);
  static async::Task<Result<http::Response>> streamed(AttemptsPtr attempts, ActivePtr active);

  LeaseProvider& provider_;
  async::Timers& timers_;
  RequestQuarantine quarantine_;
  const ClientTags tags_;
  RequestTable requests_;
};

}  // namespace corral::router
