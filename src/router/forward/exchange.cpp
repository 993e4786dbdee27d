#include "router/forward/exchange.h"

#include "http/passing.h"
#include "router/forward/passed_body.h"

namespace corral::router {
namespace {

constexpr std::uint64_t kLargestAnswer = 1ull << 30;

async::Task<Result<http::Response>> read_whole(http::Response answer) {
  auto text = co_await answer.body.read_all(kLargestAnswer);
  if (!text) co_return std::unexpected(text.error());
  answer.body = http::Body(std::move(*text));
  co_return answer;
}

class HeldExchange final : public Exchange {
 public:
  explicit HeldExchange(const ForwardRequest& request) : request_(request) {}
  async::Task<Result<http::Response>> run(http::Target& target, const http::RequestHead& head) override {
    auto answer = co_await target.send(head, request_.body);
    if (!answer || (answer->head.status < 400 && !is_json(answer->head))) co_return answer;
    co_return co_await read_whole(std::move(*answer));
  }
  bool settles(const http::Response& answer) const override { return !answer.body.streaming(); }

 private:
  const ForwardRequest& request_;
};

class StreamExchange final : public Exchange {
 public:
  explicit StreamExchange(const ForwardRequest& request) : request_(request) {}
  async::Task<Result<http::Response>> run(http::Target& target, const http::RequestHead& head) override {
    auto answer = co_await target.send(head, request_.body);
    if (!answer || answer->head.status == 200) co_return answer;
    co_return co_await read_whole(std::move(*answer));
  }
  bool settles(const http::Response&) const override { return false; }  // its end does

 private:
  const ForwardRequest& request_;
};

class UploadExchange final : public Exchange {
 public:
  explicit UploadExchange(const ForwardRequest& request)
      : request_(request), kept_(dynamic_cast<http::ReplayableBody*>(request.upload.get())) {}
  async::Task<Result<http::Response>> run(http::Target& target, const http::RequestHead& head) override {
    auto& body = body_.emplace(*request_.upload);
    auto answer = co_await target.upload(head, body);
    if (answer && answer->head.status != 200) answer = co_await read_whole(std::move(*answer));
    if (!answer && kept_ != nullptr) kept_->rewind();
    co_return answer;
  }
  // The pulled part of a body that isn't kept is lost.
  bool sendable() const override { return kept_ != nullptr || (!body_->pulled() && !request_.once); }
  std::optional<Error> client_error() const override { return body_->failure(); }
  bool settles(const http::Response&) const override { return true; }

 private:
  const ForwardRequest& request_;
  http::ReplayableBody* const kept_;
  std::optional<WatchedUpload> body_;  // of the last run
};

}  // namespace

std::unique_ptr<Exchange> make_exchange(ForwardRequest& request) {
  if (request.upload) return std::make_unique<UploadExchange>(request);
  if (request.stream) return std::make_unique<StreamExchange>(request);
  return std::make_unique<HeldExchange>(request);
}

}  // namespace corral::router
