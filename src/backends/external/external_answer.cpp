#include "backends/external/external_answer.h"

#include <utility>

#include "async/task_group.h"
#include "http/sse.h"

namespace corral::backends {
namespace {

class PassedAnswer final : public http::BodySource {
 public:
  PassedAnswer(std::unique_ptr<http::BodySource> answer, bool events, ExternalRequest request)
      : answer_(std::move(answer)),
        events_(events),
        watched_(std::move(request.watched)),
        place_(std::move(request.place)),
        watching_(request.executor) {
    watched_->client_works();
    watching_.spawn("limit of a request", watch(watched_, ours_));
  }
  ~PassedAnswer() override { *ours_ = nullptr; }

  async::Task<Result<std::string_view>> read() override {
    while (true) {
      watched_->program_works();
      const auto piece = co_await answer_->read();
      watched_->client_works();
      if (!piece || piece->empty()) {
        watching_.cancel();
        place_.give_back();
        if (!piece) co_return std::unexpected(watched_->failure().value_or(piece.error()));
        co_return piece;
      }
      const auto text = passed(*piece);
      if (!text.empty()) co_return text;
    }
  }
  std::string_view take_ready() override { return passed(answer_->take_ready()); }
  void abort() override { answer_->abort(); }
  std::optional<std::uint64_t> length() const override { return events_ ? std::nullopt : answer_->length(); }

 private:
  using Abortable = std::shared_ptr<http::BodySource*>;

  static async::Task<void> watch(std::shared_ptr<WatchedRequest> watched, Abortable answer) {
    auto over = WatchedRequest::until_over(watched);
    co_await std::move(over);
    if (*answer != nullptr) (*answer)->abort();
  }

  std::string_view passed(std::string_view piece) { return events_ ? line_ends_.feed(piece) : piece; }

  const std::unique_ptr<http::BodySource> answer_;
  const bool events_;
  http::SseLineEnds line_ends_;  // of events
  const std::shared_ptr<WatchedRequest> watched_;
  RequestGate::Place place_;
  const Abortable ours_ = std::make_shared<http::BodySource*>(answer_.get());  // null: this object has ended
  async::TaskGroup watching_;
};

}  // namespace

http::Response passed_answer(http::Response answer, ExternalRequest request) {
  if (!answer.body.streaming()) return answer;
  const bool events = answer.head.headers.get("Content-Type").starts_with("text/event-stream");
  answer.body = http::Body(std::make_unique<PassedAnswer>(answer.body.take_source(), events, std::move(request)));
  return answer;
}

}  // namespace corral::backends
