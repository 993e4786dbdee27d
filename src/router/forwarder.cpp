#include "router/forwarder.h"

#include <fmt/format.h>

#include "async/beside.h"
#include "dialects/error_teller.h"
#include "http/errors.h"
#include "http/passing.h"
#include "http/sse.h"
#include "protocol/client_tag.h"
#include "protocol/http_error.h"
#include "router/errors.h"
#include "router/passed_body.h"

namespace corral::router {
namespace {

constexpr std::size_t kLargestChecked = 16 << 20;  // of bodies, before a load: it is copied for that
constexpr Millis kPingInterval{1'000};
// Nothing is waited for that long.
constexpr Millis kNoPing = std::chrono::hours(24 * 365);
// How long a broken connection may take to turn out as a dead process.
constexpr Millis kDeathNotice{2'000};
constexpr std::uint64_t kLargestAnswer = 1ull << 30;

// How long a stream that waits is silent.
Millis silence(const ForwardRequest& request) {
  const Millis interval = request.ping_interval.value_or(kPingInterval);
  return interval.count() > 0 ? interval : kNoPing;
}

// More than a mesh has nodes that one has links to.
constexpr std::size_t kMostPassedBy = 64;

// An upload that can be sent again; null: it can't, or there is none.
http::KeptBody* kept(const ForwardRequest& request) { return dynamic_cast<http::KeptBody*>(request.upload.get()); }

// What a request is remembered by; of an upload that goes by nobody has read anything.
std::string_view words_of(const ForwardRequest& request) {
  if (!request.upload) return request.body;
  const auto* const whole = kept(request);
  return whole != nullptr ? whole->key() : std::string_view();
}

// How far the process had got with the request; nothing: it hadn't read it.
std::optional<backends::RequestPhase> phase_of(const backends::LastWork& work, const RequestId& request) {
  const auto found = work.requests.find(request.value());
  return found == work.requests.end() ? std::nullopt : std::optional(found->second);
}

Outcome outcome_of(unsigned status) {
  if (status < 400) return Outcome::ok;
  return status < 500 ? Outcome::refused : Outcome::failed;
}

// An answer that says no is short and wanted whole; one that says yes streams on.
async::Task<Result<http::Response>> with_error_text(Result<http::Response> answer) {
  if (!answer || answer->head.status == 200) co_return answer;
  auto text = co_await answer->body.read_all(kLargestAnswer);
  if (!text) co_return std::unexpected(text.error());
  answer->body = http::Body(std::move(*text));
  co_return answer;
}

}  // namespace

// The answer to a streaming request, through waiting, asking, reading and, if need be, asking again.
class ForwardedStream final : public http::BodySource {
 public:
  // Still waiting for its model: the client has heard nothing for as long as it wants to, so a ping comes first.
  ForwardedStream(Forwarder& forwarder, async::Executor executor, ForwardRequest request, Forwarder::Active active,
                  std::unique_ptr<Forwarder::Acquisition> acquisition, Forwarder::Repeats repeats)
      : forwarder_(forwarder),
        executor_(executor),
        request_(std::move(request)),
        active_(std::move(active)),
        acquisition_(std::move(acquisition)),
        ping_first_(true),
        repeats_(repeats) {
    heed_stops();
  }
  // Already answering.
  ForwardedStream(Forwarder& forwarder, async::Executor executor, ForwardRequest request, Forwarder::Active active,
                  Lease lease, http::Body answer, Forwarder::Repeats repeats)
      : forwarder_(forwarder),
        executor_(executor),
        request_(std::move(request)),
        active_(std::move(active)),
        lease_(std::move(lease)),
        answer_(std::move(answer)),
        repeats_(repeats) {
    lease_.mark_streaming();
    heed_stops();
  }
  ~ForwardedStream() override { active_->on_stop({}); }

  async::Task<Result<std::string_view>> read() override {
    if (std::exchange(ping_first_, false)) co_return http::kSsePing;
    if (ended_) co_return std::string_view();
    while (true) {
      if (active_->stopped() && !watch_.done()) co_return end_with(active_->why_stopped());
      if (acquisition_) {
        auto waiting = acquisition_->wait(forwarder_.timers_, silence(request_));
        const auto acquired = co_await active_->until_stopped(std::move(waiting));
        if (!acquired) continue;
        if (!*acquired) co_return http::kSsePing;
        auto lease = acquisition_->take();
        acquisition_.reset();
        if (!lease) {
          const auto* said = lease.error().fact<RefusedRequest>();
          co_return end_with(said != nullptr ? protocol::parse_error_body(said->status, said->body)
                                             : Forwarder::refusal(request_, lease.error()));
        }
        lease_ = std::move(*lease);
        lease_.mark_streaming();
        if (const auto off = forwarder_.keep_off(request_, *active_)) co_return end_with(*off);
        active_->start(lease_.place());
        auto asking = ask();
        auto asked = co_await active_->until_stopped(std::move(asking));
        if (!asked) continue;
        auto& answer = *asked;
        if (!answer) {
          const bool again = co_await ask_again(answer.error());
          if (again) continue;
          co_return end_with(Forwarder::broken(request_, death_, answer.error()));
        }
        if (answer->head.status != 200) {
          co_return end_with(protocol::parse_error_body(answer->head.status, answer->body.text()));
        }
        answer_ = std::move(answer->body);
      }
      const auto piece = co_await next_piece();
      if (piece && !piece->empty()) {
        const auto events = passed(*piece);
        if (events.empty()) continue;
        co_return events;
      }
      // Behind [DONE], only the end of the transfer can have been lost.
      if (piece || watch_.done()) break;
      if (active_->stopped()) continue;
      const bool again = co_await ask_again(piece.error());
      if (!again) co_return end_with(Forwarder::broken(request_, death_, piece.error()));
    }
    finish(Outcome::ok);
    last_words_ = cutter_.take_rest();
    co_return last_words_;
  }

  std::string_view take_ready() override {
    if (std::exchange(ping_first_, false)) return http::kSsePing;
    if (ended_ || acquisition_ || !answer_.streaming()) return {};
    return passed(answer_.source()->take_ready());
  }

 private:
  async::Task<Result<http::Response>> ask() {
    const auto head = forwarder_.backend_head(request_);
    auto answer = co_await lease_.target(executor_).send(head, request_.body);
    co_return co_await with_error_text(std::move(answer));
  }

  async::Task<Result<std::string_view>> next_piece() {
    if (answer_.streaming()) co_return co_await answer_.source()->read();
    last_words_ = std::exchange(answer_.text(), {});
    co_return last_words_;
  }

  // After a broken connection: true when the request goes to a fresh process, or to another node.
  async::Task<bool> ask_again(Error error) {
    death_.reset();
    if (started_ || !Forwarder::passes_by(lease_, request_, error)) {
      death_ = co_await forwarder_.died(lease_, request_, error);
      if (!death_ || started_ || !repeats_.take(*death_)) co_return false;
    }
    answer_ = {};
    (void)cutter_.take_rest();
    lease_.give_back();
    acquisition_ = forwarder_.begin_acquire(executor_, request_);
    co_return true;
  }

  // What goes to the client of a piece: whole events, so that an error can come behind them at any time.
  std::string_view passed(std::string_view piece) {
    const auto events = cutter_.feed(piece);
    started_ = started_ || http::says_something(events);
    watch_.feed(events);
    return events;
  }

  void heed_stops() {
    active_->on_stop([this] {
      if (answer_.streaming()) answer_.source()->abort();
    });
  }

  std::string_view end_with(const Error& error) {
    last_words_ = request_.told(error);
    finish(error.code == errc::cancelled ? Outcome::cancelled : Outcome::failed);
    return last_words_;
  }

  void finish(Outcome outcome) {
    ended_ = true;
    active_->end(outcome);
    if (outcome == Outcome::ok) forwarder_.answered(request_);
    answer_ = {};
    lease_.give_back();
  }

  Forwarder& forwarder_;
  const async::Executor executor_;
  ForwardRequest request_;
  const Forwarder::Active active_;
  std::unique_ptr<Forwarder::Acquisition> acquisition_;  // while waiting
  Lease lease_;
  http::Body answer_;
  std::string last_words_;
  http::SseEventCutter cutter_;
  http::SseDoneWatch watch_;
  bool ping_first_ = false;
  bool started_ = false;  // bytes of the answer went to the client, pings aside
  Forwarder::Repeats repeats_;
  std::optional<Forwarder::Death> death_;  // of the backend that broke the connection last
  bool ended_ = false;
};

async::Task<http::Response> Forwarder::forward(ForwardRequest request) {
  const auto executor = co_await async::asio::this_coro::executor;
  RequestView about{.id = request.id,
                    .kind = RequestKind::inference,
                    .model = request.model->name,
                    .path = std::string(request.path()),
                    .owner = request.owner,
                    .stream = request.stream};
  const auto active = std::make_shared<ActiveRequest>(requests_, executor, std::move(about), request.model->type);
  active->on_start(std::move(request.placed));
  active->hold(std::move(request.held));
  request.context.stream = request.stream;
  request.context.ping_interval = request.ping_interval;
  // Before it loads anything, too.
  if (const auto off = keep_off(request, *active)) {
    active->end(Outcome::failed);
    co_return dialects::error_response(*off);
  }
  auto answering = request.upload   ? uploaded(std::move(request), active)
                   : request.stream ? streamed(std::move(request), active)
                                    : whole(std::move(request), active);
  auto response = co_await active->until_stopped(std::move(answering));
  if (!response) co_return dialects::error_response(active->why_stopped());
  // A stream goes on, and says itself how it ends.
  if (!response->body.streaming()) active->end(outcome_of(response->head.status));
  co_return std::move(*response);
}

http::RequestHead Forwarder::backend_head(const ForwardRequest& request) const {
  http::RequestHead head{"POST", std::string(request.path()), {}};
  head.headers.add("Content-Type", request.content_type);
  head.headers.add("X-Request-Id", request.id.value());
  head.headers.add(protocol::kClientTag, tags_.of(request.owner, request.peer));
  if (request.background) head.headers.add(protocol::kPriority, protocol::kBackground);
  return head;
}

async::Task<Result<Lease>> Forwarder::acquire(const ForwardRequest& request) {
  if (auto lease = lender_.try_acquire(*request.model, request.context.tokens)) co_return lease;
  co_return co_await lender_.acquire(request.model, wish_of(request));
}

std::unique_ptr<Forwarder::Acquisition> Forwarder::begin_acquire(async::Executor executor,
                                                                 const ForwardRequest& request) {
  return std::make_unique<Acquisition>(executor, "acquire", lender_.acquire(request.model, wish_of(request)));
}

async::Task<std::optional<Forwarder::Death>> Forwarder::died(const Lease& lease, ForwardRequest& request,
                                                             const Error& cause) {
  auto gone = lease.until_gone();
  auto end = co_await async::with_timeout(timers_, kDeathNotice, std::move(gone));
  if (!end) co_return std::nullopt;
  if (!lease.place().empty()) request.context.avoid.emplace_back(lease.place());
  request.passed_by.reset();  // what another one said before isn't why it fails now
  const bool sendable = !request.upload || kept(request) != nullptr;
  const auto work = end->work;
  const auto phase = work ? phase_of(*work, request.id) : std::nullopt;
  if (work ? !phase : cause.code == http::errc::connect_failed)
    co_return Death{.ending = std::move(*end), .may_ask_again = sendable, .unread = true};
  Death death{.ending = std::move(*end), .may_ask_again = sendable && !request.once};
  if (death.ending.requests == 0 || words_of(request).empty()) co_return death;
  const auto key = Suspects::key_of(request.model->name, request.path(), words_of(request));
  const bool again = suspects_.note(key, death.ending);
  const bool by_its_text = work && work->by_signal && phase == backends::RequestPhase::read;
  death.may_ask_again = death.may_ask_again && again && !by_its_text;
  co_return death;
}

void Forwarder::answered(const ForwardRequest& request) {
  if (!suspects_.any() || words_of(request).empty()) return;
  suspects_.forget(Suspects::key_of(request.model->name, request.path(), words_of(request)));
}

bool Forwarder::passes_by(const Lease& lease, ForwardRequest& request, const Error& error) {
  auto& avoid = request.context.avoid;
  if (error.code != errc::not_begun || lease.place().empty() || avoid.size() >= kMostPassedBy) return false;
  avoid.emplace_back(lease.place());
  if (const auto* why = error.fact<Error>()) request.passed_by = *why;
  return true;
}

ContextWish Forwarder::wish_of(const ForwardRequest& request) const {
  auto wish = request.context;
  if (!request.upload && !request.body.empty() && request.body.size() <= kLargestChecked) {
    wish.asked = std::make_shared<const AskedRequest>(
        AskedRequest{request.ask, request.body, tags_.of(request.owner, request.peer)});
  }
  return wish;
}

http::Response Forwarder::refused(const ForwardRequest& request, const Error& error) {
  const auto* said = error.fact<RefusedRequest>();
  if (said == nullptr) return dialects::error_response(refusal(request, error));
  return http::Response::json(said->status, said->body);
}

Error Forwarder::refusal(const ForwardRequest& request, const Error& error) {
  Error said = request.passed_by.value_or(error);
  if (request.once) said.facts = Mishap{.unbegun = true, .ending = {}};
  return said;
}

Error Forwarder::broken(const ForwardRequest& request, const std::optional<Death>& death, const Error& cause) {
  const auto code = death ? errc::backend_died : errc::backend_unreachable;
  Error error(make_error_code(code),
              fmt::format("the backend of '{}' {} while it worked on this request ({})", request.model->name.value(),
                          death ? "ended" : "broke the connection", death ? death->ending.how : cause.message));
  if (request.once && death) error.facts = Mishap{.unbegun = false, .ending = death->ending};
  return error;
}

std::optional<Error> Forwarder::keep_off(const ForwardRequest& request, ActiveRequest& active) {
  if (!suspects_.any() || words_of(request).empty()) return std::nullopt;
  const auto left = suspects_.kept_off(Suspects::key_of(request.model->name, request.path(), words_of(request)));
  if (!left) return std::nullopt;
  active.keep_off();
  Error error(make_error_code(errc::kept_off),
              fmt::format("the backend of '{}' ended each time it worked on this very request: it isn't sent again for "
                          "{} s; change the request",
                          request.model->name.value(), std::chrono::ceil<std::chrono::seconds>(*left).count()));
  error.retry_after = std::chrono::ceil<std::chrono::seconds>(*left);
  return error;
}

async::Task<http::Response> Forwarder::whole(ForwardRequest request, Active active) {
  const auto executor = co_await async::asio::this_coro::executor;
  const auto head = backend_head(request);
  for (Repeats repeats;;) {
    auto lease = co_await acquire(request);
    if (!lease) co_return refused(request, lease.error());
    if (const auto off = keep_off(request, *active)) co_return dialects::error_response(*off);
    active->start(lease->place());
    auto answer = co_await lease->target(executor).send(head, request.body);
    if (answer && answer->head.status < 400 && !is_json(answer->head))
      co_return passed_on(std::move(*answer), std::move(*lease), std::move(active));
    auto text =
        answer ? co_await answer->body.read_all(kLargestAnswer) : Result<std::string>(std::unexpected(answer.error()));
    if (text) {
      answered(request);
      answer->body = http::Body(std::move(*text));
      co_return std::move(*answer);
    }
    if (passes_by(*lease, request, text.error())) continue;
    const auto death = co_await died(*lease, request, text.error());
    if (!death || !repeats.take(*death)) co_return dialects::error_response(broken(request, death, text.error()));
  }
}

async::Task<http::Response> Forwarder::uploaded(ForwardRequest request, Active active) {
  const auto executor = co_await async::asio::this_coro::executor;
  const auto head = backend_head(request);
  for (Repeats repeats;;) {
    auto lease = co_await acquire(request);
    if (!lease) co_return refused(request, lease.error());
    if (const auto off = keep_off(request, *active)) co_return dialects::error_response(*off);
    active->start(lease->place());
    WatchedUpload body(*request.upload);
    auto sent = co_await lease->target(executor).upload(head, body);
    auto answer = co_await with_error_text(std::move(sent));
    if (answer) answered(request);
    if (answer) co_return passed_on(std::move(*answer), std::move(*lease), std::move(active));
    if (body.failure()) co_return dialects::error_response(*body.failure());
    auto* const whole = kept(request);
    if (whole != nullptr) whole->rewind();
    const bool sendable = whole != nullptr || !body.pulled();
    if (sendable && passes_by(*lease, request, answer.error())) continue;
    auto death = co_await died(*lease, request, answer.error());
    if (death && whole == nullptr) death->may_ask_again = sendable && !request.once;
    if (!death || !repeats.take(*death)) co_return dialects::error_response(broken(request, death, answer.error()));
  }
}

async::Task<http::Response> Forwarder::streamed(ForwardRequest request, Active active) {
  const auto executor = co_await async::asio::this_coro::executor;
  const auto head = backend_head(request);
  for (Repeats repeats;;) {
    auto lease = lender_.try_acquire(*request.model, request.context.tokens);
    if (!lease) {
      auto acquisition = begin_acquire(executor, request);
      const bool in_time = co_await acquisition->wait(timers_, silence(request));
      if (!in_time) {
        co_return http::Response::event_stream(std::make_unique<ForwardedStream>(
            *this, executor, std::move(request), std::move(active), std::move(acquisition), repeats));
      }
      auto acquired = acquisition->take();
      if (!acquired) co_return refused(request, acquired.error());
      lease = std::move(*acquired);
    }
    if (const auto off = keep_off(request, *active)) co_return dialects::error_response(*off);
    active->start(lease.place());
    auto sent = co_await lease.target(executor).send(head, request.body);
    auto answer = co_await with_error_text(std::move(sent));
    if (!answer) {
      if (passes_by(lease, request, answer.error())) continue;
      const auto death = co_await died(lease, request, answer.error());
      if (!death || !repeats.take(*death)) co_return dialects::error_response(broken(request, death, answer.error()));
      continue;
    }
    if (answer->head.status != 200) co_return std::move(*answer);
    if (!is_json(answer->head) && !is_events(answer->head))
      co_return passed_on(std::move(*answer), std::move(lease), std::move(active));
    http::Response response{std::move(answer->head), {}};
    response.body = http::Body(std::make_unique<ForwardedStream>(*this, executor, std::move(request), std::move(active),
                                                                 std::move(lease), std::move(answer->body), repeats));
    co_return response;
  }
}

}  // namespace corral::router
