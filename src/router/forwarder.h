// Takes a request in its canonical form (dialects/dialect.h) to whoever answers for its model, and brings the answer
// back. Knows no dialect, and of a request no more than its kind, its content type and that it has a body: one that is
// held, or one that is pulled as it goes out.
//
//   - Bodies pass untouched both ways. JSON answers to requests that don't stream are held, so that a request whose
//     backend dies can be asked again; everything else (events, audio, pictures) passes piece by piece, as fast as the
//     client takes it, with its content type.
//   - The backend is told whether two requests come from the same client, not who that is (client_tag.h).
//   - A stream that must wait for a load answers ": ping" from the first second on, or as its request wants it; what
//     fails after that is one framed error event without [DONE]. What fails before has a status.
//   - Requests are listed while they are under way, and can be cancelled by their id; that answers 499, or ends a
//     stream with one framed error event.
//   - A backend that dies before a byte of the answer reached the client is replaced and asked again, once (pings are
//     no bytes); a request that has ended processes before isn't sent again, see suspects.h. A process that hadn't read
//     the request says nothing about it: this is no such time. One that a signal ended between reading the request and
//     the first token may have ended by it: then it isn't sent again.
//   - Whoever was asked and hasn't begun (errc::not_begun: another node that doesn't have the model any more) is passed
//     by: the next one that the Lender knows is asked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "async/beside.h"
#include "http/handler.h"
#include "protocol/ask.h"
#include "protocol/http_error.h"
#include "router/client_tag.h"
#include "router/lease.h"
#include "router/request_table.h"
#include "router/suspects.h"

namespace corral::router {

struct ForwardRequest {
  backends::ModelPtr model;
  protocol::Ask ask = protocol::Ask::chat;
  std::string body = {};  // held to the end of the answer: it can be sent again
  bool stream = false;    // events are wanted, and pings until they come
  RequestId id = {};
  std::optional<Millis> ping_interval = {};  // of a stream that waits; 0: no pings; none: a second
  ContextWish context = {};
  std::string owner = {};                 // see RequestView
  std::string peer = {};                  // the address that it came from
  bool background = false;                // others' requests go first
  std::shared_ptr<const void> held = {};  // until the end of the answer: its place among those of its key
  std::string content_type = "application/json";
  // Instead of `body`; then `stream` is false. Pulled once, when the model is there, and never held whole.
  std::unique_ptr<http::BodySource> upload = {};
  // Told the node of a mesh that works on it (empty: this machine), whenever it gets one. On the forwarder's loop.
  std::function<void(std::string_view node)> placed = {};
  // Somebody else sends it on, and asks again if need be: here it is asked once, and its errors have a Mishap.
  bool once = false;
  // What the one said that was passed by last, if nobody has been asked and died since.
  std::optional<Error> passed_by = {};
  // How a stream says that it failed.
  std::string (*told)(const Error& error) = framed_error;

  static std::string framed_error(const Error& error) { return protocol::sse_error_event(error); }
  std::string_view path() const { return protocol::row_of(ask).path; }
};

class Forwarder {
 public:
  // Both must outlive the forwarder and the answers it returns.
  Forwarder(Lender& lender, async::Timers& timers)
      : lender_(lender),
        timers_(timers),
        suspects_(timers),
        requests_(timers, [&lender](RequestEnd end) { lender.count(std::move(end)); }) {}

  // On the loop of the client's connection.
  async::Task<http::Response> forward(ForwardRequest request);
  // Those under way, and others that are to be listed beside them. On any loop.
  RequestTable& requests() { return requests_; }

 private:
  friend class ForwardedStream;
  using Acquisition = async::Beside<Result<Lease>>;

  using Active = std::shared_ptr<ActiveRequest>;

  async::Task<http::Response> whole(ForwardRequest request, Active active);
  async::Task<http::Response> uploaded(ForwardRequest request, Active active);
  async::Task<http::Response> streamed(ForwardRequest request, Active active);
  async::Task<Result<Lease>> acquire(const ForwardRequest& request);
  ContextWish wish_of(const ForwardRequest& request) const;
  // Dropping it gives up the place in the queue, or gives the lease back.
  std::unique_ptr<Acquisition> begin_acquire(async::Executor executor, const ForwardRequest& request);
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
    bool take(const Death& death) {
      if (!death.may_ask_again) return false;
      return death.unread ? ++unread_ <= kMaxUnread : !std::exchange(read_, true);
    }

   private:
    static constexpr int kMaxUnread = 3;  // a process that ends so each time is loaded no more for it
    int unread_ = 0;
    bool read_ = false;
  };
  // `cause`: of the broken connection.
  async::Task<std::optional<Death>> died(const Lease& lease, ForwardRequest& request, const Error& cause);
  // It was answered.
  void answered(const ForwardRequest& request);
  // Whoever was asked hasn't begun: true when somebody else is to be asked.
  static bool passes_by(const Lease& lease, ForwardRequest& request, const Error& error);
  // The answer to a request that gets no lease.
  static http::Response refused(const ForwardRequest& request, const Error& error);
  // Why nobody takes it.
  static Error refusal(const ForwardRequest& request, const Error& error);
  static Error broken(const ForwardRequest& request, const std::optional<Death>& death, const Error& cause);
  http::RequestHead backend_head(const ForwardRequest& request) const;
  // Why a request isn't sent at all; nothing: it is.
  std::optional<Error> keep_off(const ForwardRequest& request, ActiveRequest& active);

  Lender& lender_;
  async::Timers& timers_;
  Suspects suspects_;
  const ClientTags tags_;
  RequestTable requests_;
};

}  // namespace corral::router
