#include "backends/external/counted_answer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "http/sse.h"
#include "protocol/answers/answer_count.h"

namespace corral::backends {
namespace {

enum class Kind { events, json, other };

// Of JSON this much of its begin and of its end is looked at.
constexpr std::size_t kLooked = 4096;

class Tally {
 public:
  Tally(Kind kind, const async::Timers& timers, MonoTime began, RequestDone done)
      : kind_(kind), timers_(timers), began_(began), done_(std::move(done)) {}
  // Counts a stream that is dropped or breaks off, if it had text.
  ~Tally() {
    if (count_.pieces() > 0) report();
  }
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  void take(std::string_view bytes) {
    if (kind_ == Kind::json) keep(bytes);
    if (kind_ != Kind::events) return;
    const auto pieces = count_.pieces();
    const bool first = count_.feed(cutter_.feed(bytes));
    if (count_.pieces() == pieces) return;
    last_text_ = timers_.now();
    if (first) first_text_ = last_text_;
  }
  void end() {
    if (kind_ == Kind::json) count_.whole(begin_ + end_);
    report();
  }

 private:
  void keep(std::string_view bytes) {
    const auto room = std::min(bytes.size(), kLooked - begin_.size());
    begin_.append(bytes.substr(0, room));
    bytes.remove_prefix(room);
    end_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kLooked)));
    if (end_.size() > kLooked) end_.erase(0, end_.size() - kLooked);
  }

  void report() {
    const auto done = std::exchange(done_, nullptr);
    if (!done) return;
    const auto tokens = count_.tokens();
    RequestStats stats{.input_tokens = tokens.prompt.value_or(0),
                       .output_tokens = tokens.output.value_or(0),
                       .cached_tokens = tokens.cached.value_or(0)};
    if (count_.pieces() > 0) stats.time_to_first_token = seconds_between(began_, first_text_);
    const auto seconds = seconds_between(first_text_, last_text_);
    if (seconds > 0 && stats.output_tokens > 1)
      stats.tokens_per_second = static_cast<double>(stats.output_tokens - 1) / seconds;
    done(stats);
  }

  const Kind kind_;
  const async::Timers& timers_;
  const MonoTime began_;
  RequestDone done_;
  protocol::AnswerCount count_;
  http::SseEventCutter cutter_;
  std::string begin_, end_;
  MonoTime first_text_{}, last_text_{};
};

class CountedBody final : public http::BodySource {
 public:
  CountedBody(std::unique_ptr<http::BodySource> body, std::unique_ptr<Tally> tally)
      : body_(std::move(body)), tally_(std::move(tally)) {}
  async::Task<Result<std::string_view>> read() override {
    const auto piece = co_await body_->read();
    if (piece && piece->empty()) tally_->end();
    if (piece) tally_->take(*piece);
    co_return piece;
  }
  std::string_view take_ready() override {
    const auto piece = body_->take_ready();
    tally_->take(piece);
    return piece;
  }
  void abort() override { body_->abort(); }
  std::optional<std::uint64_t> length() const override { return body_->length(); }

 private:
  const std::unique_ptr<http::BodySource> body_;
  const std::unique_ptr<Tally> tally_;
};

}  // namespace

RequestDone reporter(async::Executor home, const std::shared_ptr<const WrappedServer::Hooks>& hooks) {
  return [home, weak = std::weak_ptr(hooks)](const RequestStats& stats) {
    async::asio::dispatch(home, [weak, stats] {
      if (const auto there = weak.lock(); there && there->request_done) there->request_done(stats);
    });
  };
}

void count_answer(http::Response& answer, const async::Timers& timers, MonoTime began, RequestDone done) {
  if (answer.head.status >= 400 || !done) return;
  const auto type = answer.head.headers.get("Content-Type");
  const auto kind = type.starts_with("text/event-stream")  ? Kind::events
                    : type.starts_with("application/json") ? Kind::json
                                                           : Kind::other;
  auto tally = std::make_unique<Tally>(kind, timers, began, std::move(done));
  if (answer.body.streaming()) {
    answer.body = http::Body(std::make_unique<CountedBody>(answer.body.take_source(), std::move(tally)));
    return;
  }
  tally->take(answer.body.text());
  tally->end();
}

}  // namespace corral::backends
