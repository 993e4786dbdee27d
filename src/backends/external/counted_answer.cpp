#include "backends/external/counted_answer.h"

#include <optional>
#include <utility>

#include "backends/external/answer_usage.h"

namespace corral::backends {
namespace {

double seconds(MonoClock::duration time) { return std::chrono::duration<double>(time).count(); }

bool is_of(const http::ResponseHead& head, std::string_view type) {
  return head.headers.get("Content-Type").starts_with(type);
}

class Count {
 public:
  Count(const http::ResponseHead& head, std::shared_ptr<RequestReports> reports, const Clock& clock, MonoTime began)
      : reports_(std::move(reports)), clock_(clock), began_(began), events_(is_of(head, "text/event-stream")) {
    if (events_ || is_of(head, "application/json")) usage_ = std::make_unique<AnswerUsage>(events_);
  }

  void feed(std::string_view bytes) {
    if (bytes.empty()) return;
    if (usage_) usage_->feed(bytes);
    if (!first_ && (!events_ || usage_->texts() > 0)) first_ = clock_.now();
  }
  void end() {
    const auto reports = std::exchange(reports_, nullptr);
    if (!reports) return;
    const auto now = clock_.now();
    const auto tokens = usage_ ? usage_->tokens() : AnswerUsage::Tokens();
    RequestStats stats{.input_tokens = tokens.input, .output_tokens = tokens.output, .cached_tokens = tokens.cached};
    stats.time_to_first_token = seconds(first_.value_or(now) - began_);
    // When a whole answer had its first token is unknown: the time of its prompt is part of it.
    const auto took = seconds(now - (events_ ? first_.value_or(now) : began_));
    stats.tokens_per_second = tokens.per_second;
    if (tokens.per_second == 0 && took > 0) stats.tokens_per_second = static_cast<double>(tokens.output) / took;
    reports->tell(stats);
  }
  void leave() {
    if (usage_ && usage_->texts() > 0) end();
  }
  // It broke off. A program that dies in its answers has not answered.
  void fail() { reports_.reset(); }

 private:
  std::shared_ptr<RequestReports> reports_;  // null: not counted, or counted already
  const Clock& clock_;
  const MonoTime began_;
  const bool events_;
  std::unique_ptr<AnswerUsage> usage_;  // null: an answer without text
  std::optional<MonoTime> first_;
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
  auto count = std::make_unique<Count>(answer.head, std::move(reports), clock, began);
  if (answer.body.streaming()) {
    answer.body = http::Body(std::make_unique<CountedBody>(answer.body.take_source(), std::move(count)));
  } else {
    count->feed(answer.body.text());
    count->end();
  }
  return answer;
}

}  // namespace corral::backends
