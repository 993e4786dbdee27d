#include "api/filters/transcript_stream.h"

#include <utility>

#include "api/filters/filters.h"
#include "async/spawned_task.h"
#include "dialects/audio/transcription.h"
#include "http/sse.h"
#include "protocol/http_error.h"

namespace corral::api {
namespace {

using Upstream = async::SpawnedTask<http::Response>;

class TranscriptStream final : public http::BodySource {
 public:
  TranscriptStream(async::Timers& timers, std::unique_ptr<Upstream> answering)
      : timers_(timers), answering_(std::move(answering)) {}

  async::Task<Result<std::string_view>> read() override {
    if (std::exchange(ping_first_, false)) co_return http::kSsePing;
    if (answering_) {
      const bool done = co_await answering_->wait(timers_, kPingEvery);
      if (!done) co_return http::kSsePing;
      answer_ = answering_->take();
      answering_.reset();
      if (!answer_.body.streaming()) {
        text_ = answer_.head.status == 200
                    ? dialects::audio::transcript_events(answer_)
                    : protocol::sse_error_event(protocol::parse_error_body(answer_.head.status, answer_.body.text()));
        co_return std::string_view(text_);
      }
    }
    if (!answer_.body.streaming()) co_return std::string_view();
    co_return co_await answer_.body.source()->read();
  }
  void abort() override {
    if (answer_.body.streaming()) answer_.body.source()->abort();
  }

 private:
  async::Timers& timers_;
  std::unique_ptr<Upstream> answering_;
  http::Response answer_;
  std::string text_;
  bool ping_first_ = true;
};

bool is_events(const http::Response& answer) {
  return answer.head.headers.get("Content-Type").starts_with("text/event-stream");
}

}  // namespace

async::Task<http::Response> transcript_as_events(async::Timers& timers, async::Task<http::Response> answering) {
  const auto executor = co_await async::asio::this_coro::executor;
  auto beside = std::make_unique<Upstream>(executor, "transcript", std::move(answering));
  const bool in_time = co_await beside->wait(timers, kPingEvery);
  if (!in_time) co_return http::Response::event_stream(std::make_unique<TranscriptStream>(timers, std::move(beside)));
  auto answer = beside->take();
  if (answer.head.status != 200 || is_events(answer)) co_return answer;
  auto response = http::Response::text(200, "text/event-stream", dialects::audio::transcript_events(answer));
  response.head.headers.set("Cache-Control", "no-cache");
  co_return response;
}

Filter transcript_stream_filter(FilterContext& context) {
  return [&context](CallPtr call, Next next) {
    // Images have events of their own.
    const bool stream = call->canonical.about.stream && call->type != ModelType::image;
    auto answering = next(std::move(call));
    return stream ? transcript_as_events(context.inference.core.timers, std::move(answering)) : std::move(answering);
  };
}

}  // namespace corral::api
