// The attempts of one request to be answered, the only place where a request is sent: a lease, the exchange, and both
// again where that may help, until there is an answer or it is known why there is none.
//
//   next():  ──► lease ──► sent ──► answer
//                  ▲         │ the connection breaks, also later, while the answer is read
//                  └── broke():  a replay, another node, or the error of the request
//
//   - A backend that dies before a byte of the answer reached the client is replaced and asked again, once (pings are
//     no bytes); a request that has ended processes before isn't sent again, see suspects.h. A process that hadn't read
//     the request says nothing about it: this is no such time. One that a signal ended between reading the request and
//     the first token may have ended by it: then it isn't sent again.
//   - Whoever was asked and hasn't begun (errc::not_begun: another node that doesn't have the model any more) is passed
//     by: the next one that the Lender knows is asked.
//
// How whole answers, streams and uploads differ is told by exchange.h; pings, counting and the end of a stream are the
// business of whoever calls next() (forwarder.h, forwarded_stream.h).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "async/beside.h"
#include "http/handler.h"
#include "router/exchange.h"
#include "router/lease.h"
#include "router/request_table.h"
#include "router/suspicion.h"

namespace corral::router {

// On the loop of the request. Dropping it gives up the place in the queue, or gives the lease back.
class RequestAttempts {
 public:
  // What it uses; all of it must outlive it.
  struct Parts {
    Lender& lender;
    async::Timers& timers;
    Suspects& suspects;
  };
  // `head`: as the backend gets it.
  RequestAttempts(Parts parts, async::Executor executor, ForwardRequest request, http::RequestHead head,
                  std::shared_ptr<ActiveRequest> active);

  // An answer, whoever gives it; nothing: after `patience` the request waits for its model still, call again. Without
  // patience it waits as long as it takes. Errors: those of the Lender, kept_off, those of broke().
  using Answer = std::optional<Result<http::Response>>;
  async::Task<Answer> next(std::optional<Millis> patience = std::nullopt);
  // `cause`: the connection broke. `begun`: bytes of the answer have reached the client. Nothing: there will be another
  // attempt, call next(). Errors: backend_died, backend_unreachable, those of the client's body.
  async::Task<std::optional<Error>> broke(Error cause, bool begun);

  const ForwardRequest& request() const { return request_; }
  // Leases are shown as streaming, from now on.
  void mark_streaming();
  // The answer has come to a good end.
  void settle() { suspicion_.clear(); }
  Lease take_lease() { return std::move(lease_); }
  void give_back() { lease_.give_back(); }

 private:
  // How it ended, when the backend behind the lease turns out dead.
  struct Death {
    Ending ending;
    bool may_ask_again = false;  // this request may be sent to a fresh process
    bool unread = false;         // it hadn't read this request
  };
  // How often a request is sent again, however it went.
  class Repeats {
   public:
    // Whether it may be sent after this death, too.
    bool take(const Death& death);

   private:
    int unread_ = 0;
    bool read_ = false;
  };

  std::optional<Error> kept_off();
  async::Task<std::optional<Result<Lease>>> acquire(std::optional<Millis> patience);
  LeaseRequest lease_request() const;
  // What the client is told when nobody lends.
  Result<http::Response> refused(const Error& error) const;
  // Whoever was asked hasn't begun: true when somebody else is to be asked.
  bool passes_by(const Error& error);
  async::Task<std::optional<Death>> died(Error cause, bool sendable);
  Error broken(const std::optional<Death>& death, const Error& cause) const;

  const Parts parts_;
  const async::Executor executor_;
  ForwardRequest request_;
  const http::RequestHead head_;
  const std::shared_ptr<ActiveRequest> active_;
  const std::unique_ptr<Exchange> exchange_;
  Suspicion suspicion_;
  std::unique_ptr<async::Beside<Result<Lease>>> acquisition_;  // while waiting
  Lease lease_;
  Repeats repeats_;
  std::vector<NodeRef> avoid_;  // see NodePreference
  std::optional<Error>
      passed_by_;  // what the one said that was passed by last, if nobody has been asked and died since
  bool first_ = true;
  bool streams_ = false;
};

}  // namespace corral::router
