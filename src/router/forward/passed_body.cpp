#include "router/forward/passed_body.h"

namespace corral::router {
namespace {

class PassedBody final : public http::BodySource {
 public:
  PassedBody(std::unique_ptr<http::BodySource> answer, Lease lease, std::shared_ptr<ActiveRequest> active)
      : answer_(std::move(answer)), lease_(std::move(lease)), active_(std::move(active)) {
    active_->on_stop([this] { answer_->abort(); });
  }
  ~PassedBody() override { active_->on_stop({}); }

  async::Task<Result<std::string_view>> read() override {
    if (ended_) co_return std::string_view();
    const auto piece = co_await answer_->read();
    if (!piece) {
      end(active_->stopped() ? Outcome::cancelled : Outcome::failed);
    } else if (piece->empty()) {
      end(Outcome::ok);
    }
    co_return piece;
  }
  std::string_view take_ready() override { return ended_ ? std::string_view() : answer_->take_ready(); }
  void abort() override { answer_->abort(); }
  std::optional<std::uint64_t> length() const override { return answer_->length(); }

 private:
  void end(Outcome outcome) {
    ended_ = true;
    active_->end(outcome);
    lease_.give_back();
  }

  const std::unique_ptr<http::BodySource> answer_;
  Lease lease_;
  const std::shared_ptr<ActiveRequest> active_;
  bool ended_ = false;
};

}  // namespace

bool is_json(const http::ResponseHead& head) {
  return head.headers.get("Content-Type").starts_with("application/json");
}

bool is_events(const http::ResponseHead& head) {
  return head.headers.get("Content-Type").starts_with("text/event-stream");
}

http::Response passed_on(http::Response answer, Lease lease, std::shared_ptr<ActiveRequest> active) {
  if (!answer.body.streaming()) return answer;
  if (!is_json(answer.head)) lease.mark_streaming();
  answer.body =
      http::Body(std::make_unique<PassedBody>(answer.body.take_source(), std::move(lease), std::move(active)));
  return answer;
}

}  // namespace corral::router
