// Takes a request to whoever answers for its model, and brings the answer back. Knows no dialect. What is tried, and
// how often, is decided in request_attempts.h; here requests are listed and counted, and their answers go out.
//
//   - Bodies pass untouched both ways. JSON answers to requests that don't stream are held; everything else (events,
//     audio, pictures) passes piece by piece, as fast as the client takes it, with its content type.
//   - The backend is told whether two requests come from the same client, not who that is (client_tag.h).
//   - A stream that must wait for a load answers ": ping" from the first second on, or as its request wants it
//     (forwarded_stream.h). What fails before has a status.
//   - Requests are listed while they are under way, and can be cancelled by their id; that answers 499, or ends a
//     stream with one framed error event.
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
  Forwarder(LeaseProvider& lender, async::Timers& timers)
      : lender_(lender),
        timers_(timers),
        quarantine_(timers),
        requests_(timers, [&lender](RequestEnd end) { lender.count(std::move(end)); }) {}

  // On the loop of the client's connection. Errors: those of RequestAttempts; cancelled, shutting_down.
  async::Task<Result<http::Response>> forward(ForwardRequest request);
  // Those under way, and others that are to be listed beside them. On any loop.
  RequestTable& requests() { return requests_; }

 private:
  using ActivePtr = std::shared_ptr<ActiveRequest>;
  using AttemptsPtr = std::unique_ptr<RequestAttempts>;

  static async::Task<Result<http::Response>> passed(AttemptsPtr attempts, ActivePtr active);
  static async::Task<Result<http::Response>> streamed(AttemptsPtr attempts, ActivePtr active);
  http::RequestHead backend_head(const ForwardRequest& request) const;

  LeaseProvider& lender_;
  async::Timers& timers_;
  RequestQuarantine quarantine_;
  const ClientTags tags_;
  RequestTable requests_;
};

}  // namespace corral::router
