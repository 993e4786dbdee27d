#include "fleet/requests/peer_upstream.h"

#include <cstring>

#include <fmt/format.h>

#include "fleet/base/errors.h"
#include "fleet/requests/peer_headers.h"
#include "http/errors.h"
#include "http/sse.h"
#include "json/value.h"
#include "mesh/identity/errors.h"
#include "protocol/http_error.h"
#include "residency/errors.h"
#include "router/base/errors.h"

namespace corral::fleet {
namespace {

constexpr std::uint64_t kLongestExcuse = 64 * 1024;

// Only these header fields of a response pass.
constexpr std::string_view kPassed[] = {"Content-Type", "Content-Disposition", "Cache-Control", "X-Accel-Buffering",
                                        "Retry-After"};

http::ResponseHead plain(const http::ResponseHead& head) {
  http::ResponseHead passed{head.status, {}};
  for (const auto name : kPassed) {
    if (const auto value = head.headers.get(name); !value.empty()) passed.headers.add(name, value);
  }
  return passed;
}

// The number is unique for a process of that node.
router::UpstreamExit ending_of(const PeerCall& call, const PeerFailure& failure, std::string_view text) {
  std::uint64_t node = 0;
  std::memcpy(&node, call.to().node.bytes.data(), sizeof node);
  return {.how = fmt::format("at {}: {}", call.to().node_name, text),
          .number = (node ^ failure.process * 0x9e3779b97f4a7c15ULL) | 1ull << 63,
          .requests = failure.requests};
}

Error not_begun(Error why) {
  Error error(make_error_code(router::errc::not_begun), why.message);
  error.facts = std::move(why);
  return error;
}

// The error in a peer's body. The peer doesn't have the model now: not_here, unless no context of it is large enough.
Error error_of(unsigned status, std::string_view body) {
  constexpr unsigned kUnavailable = 503;
  const auto absent = make_error_code(residency::errc::not_here);
  auto why = protocol::parse_error_body(status == kNotHere ? kUnavailable : status, body);
  const auto parsed = json::parse(body);
  const auto* error = parsed ? json::find(*parsed, "error") : nullptr;
  const bool reported = error != nullptr && json::text_or(*error, "code", {}) == absent.message();
  if (status == kNotHere || (reported && why.param != "ctx_size")) why.code = absent;
  return why;
}

// Handles a peer's report of a failed request.
Error excuse(PeerCall& call, const PeerFailure& failure, Error why) {
  if (failure.unbegun) return not_begun(std::move(why));
  call.end(ending_of(call, failure, why.message));
  return why;
}

// No connection to the peer: no part of the request was sent.
bool is_unsent(const Error& error) {
  return error.code == http::errc::connect_failed || error.code.category() == mesh::error_category();
}

Error gone(const PeerCall& call) { return {make_error_code(errc::peer_gone), call.ending()->how}; }

// The connection broke during the request.
Error broke(PeerCall& call, const Error& cause) {
  if (is_unsent(cause)) {
    Error why(make_error_code(errc::nowhere),
              fmt::format("no connection to {}: {}", call.to().node_name, cause.message));
    why.retry_after = std::chrono::seconds(1);
    return not_begun(std::move(why));
  }
  call.end({.how = fmt::format("the connection to {} broke: {}", call.to().node_name, cause.message),
            .number = call.held() | 1ull << 63});
  return gone(call);
}

// The peer's body without comments for this node.
class PeerBody final : public http::BodySource {
 public:
  PeerBody(std::shared_ptr<PeerCall> call, std::unique_ptr<http::BodySource> answer, bool events)
      : call_(std::move(call)), answer_(std::move(answer)), events_(events) {
    call_->reads(answer_.get());
  }
  ~PeerBody() override { call_->reads(nullptr); }

  async::Task<Result<std::string_view>> read() override {
    while (true) {
      if (excuse_) co_return std::unexpected(*excuse_);
      if (ended_) co_return std::string_view();
      if (call_->ending()) co_return std::unexpected(gone(*call_));
      auto piece = co_await next();
      if (!piece) co_return std::unexpected(call_->ending() ? gone(*call_) : broke(*call_, piece.error()));
      if (piece->empty()) {
        ended_ = true;
        rest_ = cutter_.take_rest();
        co_return rest_;
      }
      if (const auto passed = pass(*piece); !passed.empty()) co_return passed;
    }
  }
  std::string_view take_ready() override {
    return excuse_ || ended_ ? std::string_view() : pass(answer_->take_ready());
  }
  void abort() override { answer_->abort(); }
  std::optional<std::uint64_t> length() const override { return events_ ? std::nullopt : answer_->length(); }

 private:
  async::Task<Result<std::string_view>> next() {
    const PeerCall::Waiting waiting(*call_);
    co_return co_await answer_->read();
  }

  // Complete events before the first comment for this node.
  std::string_view pass(std::string_view piece) {
    if (!events_) return piece;
    const auto events = cutter_.feed(piece);
    const auto begin = find_comment(events);
    if (begin == std::string_view::npos) return events;
    read_events(events.substr(begin));
    return events.substr(0, begin);
  }

  static std::size_t find_comment(std::string_view events) {
    constexpr std::string_view kOurs = "\n: corral ";
    if (events.starts_with(kOurs.substr(1))) return 0;
    const auto found = events.find(kOurs);
    return found == std::string_view::npos ? found : found + 1;
  }

  // Reads the comment, and the error after it.
  void read_events(std::string_view events) {
    const auto failure = failure_in_comment(events.substr(0, events.find('\n')));
    Error why(make_error_code(errc::peer_gone), fmt::format("{} gave the request up", call_->to().node_name));
    http::SseParser parser([&why](std::string_view, std::string_view data) {
      constexpr unsigned kUnavailable = 503;
      why = error_of(kUnavailable, data);
    });
    parser.feed(events);
    excuse_ = excuse(*call_, failure.value_or(PeerFailure()), std::move(why));
  }

  const std::shared_ptr<PeerCall> call_;
  const std::unique_ptr<http::BodySource> answer_;
  const bool events_;
  http::SseEventCutter cutter_;
  std::string rest_;
  std::optional<Error> excuse_;
  bool ended_ = false;
};

// The response for the forwarder, or the error.
async::Task<Result<http::Response>> understood(std::shared_ptr<PeerCall> call,
                                               std::optional<Result<http::Response>> answer) {
  if (call->ending()) co_return std::unexpected(gone(*call));
  if (!answer) co_return fail(errc::peer_gone, "the request was stopped");
  if (!*answer) co_return std::unexpected(broke(*call, answer->error()));
  auto& response = **answer;
  auto failure = read_failure(response.head.headers);
  if (response.head.status == kNotHere) failure = PeerFailure{.unbegun = true};
  if (failure) {
    auto text = co_await response.body.read_all(kLongestExcuse);
    if (!text) co_return std::unexpected(broke(*call, text.error()));
    auto why = error_of(response.head.status, *text);
    co_return std::unexpected(excuse(*call, *failure, std::move(why)));
  }
  response.head = plain(response.head);
  if (response.body.streaming()) {
    const bool events = response.head.headers.get("Content-Type").starts_with("text/event-stream");
    response.body = http::Body(std::make_unique<PeerBody>(std::move(call), response.body.take_source(), events));
  }
  co_return std::move(response);
}

}  // namespace

PeerUpstream::PeerUpstream(std::shared_ptr<PeerCall> call, const router::LeaseRequest& request)
    : call_(std::move(call)),
      node_(mesh::to_text(call_->to().node)),
      stream_(request.streaming.wanted),
      ping_interval_(request.streaming.ping_interval),
      context_(request.context.tokens) {}

async::Task<router::UpstreamExit> PeerUpstream::wait_for_exit() {
  co_await call_->gone().wait();
  co_return *call_->ending();
}

http::RequestHead PeerUpstream::head_for_peer(const http::RequestHead& head) const {
  http::RequestHead peer_head = head;
  const auto& to = call_->to();
  write(peer_head.headers,
        PeerRequestInfo{call_->held(), to.model, to.content, stream_, ping_interval_, context_, to.alone});
  return peer_head;
}

async::Task<Result<http::Response>> PeerUpstream::send(const http::RequestHead& head, std::string_view body) {
  const auto peer_head = head_for_peer(head);
  std::optional<Result<http::Response>> answer;
  {
    const PeerCall::Waiting waiting(*call_);
    auto sending = call_->client().send(peer_head, body);
    answer = co_await call_->stopper().run(std::move(sending));
  }
  co_return co_await understood(call_, std::move(answer));
}

async::Task<Result<http::Response>> PeerUpstream::upload(const http::RequestHead& head, http::BodySource& body) {
  const auto peer_head = head_for_peer(head);
  std::optional<Result<http::Response>> answer;
  {
    const PeerCall::Waiting waiting(*call_);
    auto sending = call_->client().upload(peer_head, body);
    answer = co_await call_->stopper().run(std::move(sending));
  }
  co_return co_await understood(call_, std::move(answer));
}

}  // namespace corral::fleet
