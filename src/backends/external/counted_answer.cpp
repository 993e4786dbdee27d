#include "backends/external/counted_answer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "http/sse.h"
#include "protocol/answers/answer_count.h"

namespace corral::backends {
namespace {

enum class Kind : std::uint8_t { events, json, other };

// Of a JSON text so many of its first and last bytes are kept, where the numbers are.
constexpr std::size_t kKept = 4'096;
// Texts that arrive together show no speed.
constexpr double kShortestTime = 0.001;

double seconds(MonoClock::duration time) { return std::chrono::duration<double>(time).count(); }

Kind kind_of(const http::ResponseHead& head) {
  const auto type = head.headers.get("Content-Type");
  if (type.starts_with("text/event-stream")) return Kind::events;
  return type.starts_with("application/json") ? Kind::json : Kind::other;
}

class Count {
 public:
  Count(Kind kind, std::shared_ptr<RequestReports> reports, const Clock& clock, MonoTime began)
      : kind_(kind), reports_(std::move(reports)), clock_(clock), began_(began) {}

  void feed(std::string_view bytes) {
    if (kind_ == Kind::events) events(cutter_.feed(bytes));
    if (kind_ == Kind::json) keep(bytes);
  }
  void end() {
    const auto reports = std::exchange(reports_, nullptr);
    if (!reports) return;
    if (kind_ == Kind::json) count_.whole(first_bytes_ + last_bytes_);
    const auto tokens = count_.tokens();
    RequestStats stats{.input_tokens = tokens.prompt.value_or(0),
                       .output_tokens = tokens.output.value_or(0),
                       .cached_tokens = tokens.cached.value_or(0)};
    if (count_.pieces() > 0) stats.time_to_first_token = seconds(first_text_ - began_);
    stats.tokens_per_second = tokens.per_second.value_or(rate(stats.output_tokens));
    reports->report(stats);
  }
  void leave() {
    if (count_.pieces() > 0) end();
  }
  // It broke off. A program that dies in its answers has not answered.
  void fail() { reports_.reset(); }

 private:
  void events(std::string_view whole) {
    if (whole.empty()) return;
    const auto before = count_.pieces();
    const bool first = count_.feed(whole);
    if (count_.pieces() > before) last_text_ = clock_.now();
    if (first) first_text_ = last_text_;
    done_.feed(whole);
    if (done_.done()) end();
  }
  void keep(std::string_view bytes) {
    const auto room = std::min(bytes.size(), kKept - first_bytes_.size());
    first_bytes_.append(bytes.substr(0, room));
    bytes.remove_prefix(room);
    last_bytes_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kKept)));
    if (last_bytes_.size() > kKept) last_bytes_.erase(0, last_bytes_.size() - kKept);
  }
  // Of the tokens behind the first one; 0: they have no times of their own.
  double rate(std::uint64_t output) const {
    const auto took = seconds(last_text_ - first_text_);
    return took >= kShortestTime && output > 1 ? static_cast<double>(output - 1) / took : 0;
  }

  const Kind kind_;
  std::shared_ptr<RequestReports> reports_;  // null: not counted, or counted already
  const Clock& clock_;
  const MonoTime began_;
  protocol::AnswerCount count_;
  http::SseEventCutter cutter_;
  http::SseDoneWatch done_;
  std::string first_bytes_, last_bytes_;  // of a JSON text
  MonoTime first_text_ = {}, last_text_ = {};
};

class CountedBody final : public http::BodySource {
 public:
  CountedBody(std::unique_ptr<http::BodySource> answer, std::unique_ptr<Count> count)
      : answer_(std::move(answer)), count_(std::move(count)) {}
  ~CountedBody() override { count_->leave(); }

  async::Task<Result<std::string_view>> read() override {
    const auto piece = co_await answer_->read();
    const auto state = co_await async::asio::this_coro::cancellation_state;
    const bool stopped = aborted_ || state.cancelled() != async::asio::cancellation_type::none;
    if (!piece && stopped) {
      count_->leave();
    } else if (!piece) {
      count_->fail();
    } else if (piece->empty()) {
      count_->end();
    } else {
      count_->feed(*piece);
    }
    co_return piece;
  }
  std::string_view take_ready() override {
    const auto piece = answer_->take_ready();
    count_->feed(piece);
    return piece;
  }
  void abort() override {
    aborted_ = true;
    answer_->abort();
  }
  std::optional<std::uint64_t> length() const override { return answer_->length(); }

 private:
  const std::unique_ptr<http::BodySource> answer_;
  const std::unique_ptr<Count> count_;
  bool aborted_ = false;
};

}  // namespace

http::Response counted_answer(http::Response answer, std::shared_ptr<RequestReports> reports, const Clock& clock,
                              MonoTime began) {
  if (answer.head.status >= 400) return answer;
  auto count = std::make_unique<Count>(kind_of(answer.head), std::move(reports), clock, began);
  if (answer.body.streaming()) {
    answer.body = http::Body(std::make_unique<CountedBody>(answer.body.take_source(), std::move(count)));
  } else {
    count->feed(answer.body.text());
    count->end();
  }
  return answer;
}

}  // namespace corral::backends
