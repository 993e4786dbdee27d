#include "backends/external/external_answer.h"

#include <utility>

#include "async/task_group.h"

namespace corral::backends {
namespace {

class PassedAnswer final : public http::BodySource {
 public:
  PassedAnswer(std::unique_ptr<http::BodySource> answer, ExternalRequest request)
      : answer_(std::move(answer)),
        watched_(std::move(request.watched)),
        place_(std::move(request.place)),
        watching_(request.executor) {
    watched_->client_works();
    watching_.spawn("limit of a request", watch(watched_, ours_));
  }
  ~PassedAnswer() override { *ours_ = nullptr; }

  async::Task<Result<std::string_view>> read() override {
    watched_->program_works();
    const auto piece = co_await answer_->read();
    watched_->client_works();
    if (!piece || piece->empty()) {
      watching_.cancel();
      place_.give_back();
    }
    if (!piece) co_return std::unexpected(watched_->failure().value_or(piece.error()));
    co_return piece;
  }
  std::string_view take_ready() override { return answer_->take_ready(); }
  void abort() override { answer_->abort(); }
  std::optional<std::uint64_t> length() const override { return answer_->length(); }

 private:
  using Abortable = std::shared_ptr<http::BodySource*>;

  static async::Task<void> watch(std::shared_ptr<WatchedRequest> watched, Abortable answer) {
    auto over = WatchedRequest::until_over(watched);
    co_await std::move(over);
    if (*answer != nullptr) (*answer)->abort();
  }

  const std::unique_ptr<http::BodySource> answer_;
  const std::shared_ptr<WatchedRequest> watched_;
  RequestGate::Place place_;
  const Abortable ours_ = std::make_shared<http::BodySource*>(answer_.get());  // null: this object has ended
  async::TaskGroup watching_;
};

}  // namespace

http::Response passed_answer(http::Response answer, ExternalRequest request) {
  if (!answer.body.streaming()) return answer;
  answer.body = http::Body(std::make_unique<PassedAnswer>(answer.body.take_source(), std::move(request)));
  return answer;
}

}  // namespace corral::backends
