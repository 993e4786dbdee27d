// The attempts to answer one request. Only this class sends requests: it gets a lease, runs the exchange, and repeats
// both if that may help, until there is an answer or an error.
//
//   next():  ──► lease ──► sent ──► answer
//                  ▲         │ the connection breaks, also later, while the answer is read
//                  └── broke():  a replay, another node, or the error of the request
//
//   - A backend that ends before a byte of the answer reached the client is replaced, and the request is sent again,
//     once (pings do not count as bytes). Two exceptions: a request that has ended processes before (see
//     request_quarantine.h; a process that had not read the request does not count), and a process that a signal ended
//     between reading the request and the first token: the request may have ended it.
//   - A node that has not begun the request (errc::not_begun: it no longer has the model) is skipped: the LeaseProvider
//     names the next one.
//
// exchange.h has the differences between whole answers, streams and uploads. The callers of next() (forwarder.h,
// forwarded_stream.h) send pings, count, and end streams.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "async/spawned_task.h"
#include "http/handler.h"
#include "router/base/lease.h"
#include "router/base/request_table.h"
#include "router/forward/exchange.h"
#include "router/forward/suspicion.h"

namespace corral::router {

// On the loop of the request. Its destruction ends the wait in the queue, or ends the lease.
class RequestAttempts {
 public:
  // Dependencies; all of them must outlive it.
  struct Parts {
    LeaseProvider& provider;
    async::Timers& timers;
    RequestQuarantine& quarantine;
  };
  // `head`: as the backend gets it.
  RequestAttempts(Parts parts, async::Executor executor, ForwardRequest request, http::RequestHead head,
                  std::shared_ptr<ActiveRequest> active);

  // The answer, also an error of the engine. Nothing: the request still waits for its model after `patience`; call
  // again. Without patience it waits without limit. Errors: those of the LeaseProvider, quarantined, those of broke().
  using Answer = std::optional<Result<http::Response>>;
  async::Task<Answer> next(std::optional<Millis> patience = std::nullopt);
  // After next(). `cause`: the connection broke. `begun`: bytes of the answer have reached the client. Nothing: there
  // will be another attempt, call next(). Errors: backend_died, backend_unreachable, those of the client's body.
  async::Task<std::optional<Error>> broke(Error cause, bool begun);

  const ForwardRequest& request() const { return request_; }
  // Leases are shown as streaming, from now on.
  void mark_streaming() {
    streams_ = true;
    lease_.mark_streaming();
  }
  // The answer has come to a good end.
  void settle() { suspicion_.clear(); }
  Lease take_lease() { return std::move(lease_); }
  void give_back() { lease_.give_back(); }

 private:
  // How the backend of the lease ended, if it is dead.
  struct Death {
    UpstreamExit ending;
    bool may_ask_again = false;  // this request may be sent to a fresh process
    bool unread = false;         // it hadn't read this request
  };
  // How often a request is sent again, whatever the cause.
  class Repeats {
   public:
    // Whether it may be sent after this death, too.
    bool take(const Death& death);

   private:
    int unread_ = 0;
    bool read_ = false;
  };

  std::optional<Error> quarantined();
  async::Task<std::optional<Result<Lease>>> acquire(std::optional<Millis> patience);
  LeaseRequest lease_request() const;
  // The response to a request that gets no lease.
  Result<http::Response> refused(const Error& error) const;
  // True if the error is not_begun and another node can be asked.
  bool passes_by(const Error& error);
  async::Task<std::optional<Death>> died(Error cause, bool sendable);
  Error broken(const std::optional<Death>& death, const Error& cause) const;

  const Parts parts_;
  const async::Executor executor_;
  ForwardRequest request_;
  const http::RequestHead head_;
  const std::shared_ptr<ActiveRequest> active_;
  std::unique_ptr<Exchange> exchange_;  // made by the first next()
  Suspicion suspicion_;
  std::unique_ptr<async::SpawnedTask<Result<Lease>>> acquisition_;  // while waiting
  Lease lease_;
  Repeats repeats_;
  std::vector<NodeRef> avoid_, absent_, ended_;  // see NodePreference
  // The error of the node that was skipped last; reset if a process ended under the request since.
  std::optional<Error> passed_by_;
  bool first_ = true;
  bool streams_ = false;
};

}  // namespace corral::router
