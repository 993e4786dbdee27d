#include "router/forward/forwarded_stream.h"

#include <utility>

#include "protocol/http_error.h"
#include "router/base/errors.h"

namespace corral::router {

ForwardedStream::ForwardedStream(std::unique_ptr<RequestAttempts> attempts, std::shared_ptr<ActiveRequest> active,
                                 Millis silence, std::optional<http::Body> answer)
    : attempts_(std::move(attempts)),
      active_(std::move(active)),
      silence_(silence),
      waiting_(!answer),
      ping_first_(!answer) {
  if (answer) answer_ = std::move(*answer);
  attempts_->mark_streaming();
  active_->on_stop([this] {
    if (answer_.streaming()) answer_.source()->abort();
  });
}

async::Task<Result<std::string_view>> ForwardedStream::read() {
  if (std::exchange(ping_first_, false)) co_return http::kSsePing;
  if (ended_) co_return std::string_view();
  while (true) {
    if (active_->stopped() && !watch_.done()) co_return end_with(active_->why_stopped());
    if (waiting_) {
      auto asking = attempts_->next(silence_);
      auto asked = co_await active_->until_stopped(std::move(asking));
      if (!asked) continue;
      if (!*asked) co_return http::kSsePing;
      auto& answer = **asked;
      if (!answer) co_return end_with(answer.error());
      if (answer->head.status != 200)
        co_return end_with(protocol::parse_error_body(answer->head.status, answer->body.text()));
      answer_ = std::move(answer->body);
      waiting_ = false;
    }
    const auto piece = co_await next_piece();
    if (piece && !piece->empty()) {
      const auto events = passed(*piece);
      if (events.empty()) continue;
      co_return events;
    }
    // After [DONE], only the end of the transfer can be missing.
    if (piece || watch_.done()) break;
    if (active_->stopped()) continue;
    auto breaking = attempts_->broke(piece.error(), started_);
    const auto failed = co_await std::move(breaking);
    if (failed) co_return end_with(*failed);
    answer_ = {};
    (void)cutter_.take_rest();
    waiting_ = true;
  }
  finish(Outcome::ok);
  last_words_ = cutter_.take_rest();
  co_return last_words_;
}

std::string_view ForwardedStream::take_ready() {
  if (std::exchange(ping_first_, false)) return http::kSsePing;
  if (ended_ || !answer_.streaming()) return {};
  return passed(answer_.source()->take_ready());
}

async::Task<Result<std::string_view>> ForwardedStream::next_piece() {
  if (answer_.streaming()) co_return co_await answer_.source()->read();
  last_words_ = std::exchange(answer_.text(), {});
  co_return last_words_;
}

std::string_view ForwardedStream::passed(std::string_view piece) {
  const auto events = cutter_.feed(piece);
  started_ = started_ || http::has_events(events);
  watch_.feed(events);
  return events;
}

std::string_view ForwardedStream::end_with(const Error& error) {
  last_words_ = attempts_->request().format_error(error);
  finish(error.code == errc::cancelled ? Outcome::cancelled : Outcome::failed);
  return last_words_;
}

void ForwardedStream::finish(Outcome outcome) {
  ended_ = true;
  active_->end(outcome);
  if (outcome == Outcome::ok) attempts_->settle();
  answer_ = {};
  attempts_->give_back();
}

}  // namespace corral::router
