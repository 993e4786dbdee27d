#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/images/filters.h"
#include "api/images/image_calls.h"
#include "async/spawned_task.h"
#include "http/sse.h"
#include "protocol/http_error.h"

namespace corral::api {
namespace {

namespace images = dialects::images;

using Calls = std::shared_ptr<ImageCalls>;
using Made = std::expected<ImageCalls::Images, http::Response>;
using Running = async::SpawnedTask<Made>;

// All images in one answer. A backend that makes fewer at once than it was asked for is asked again.
async::Task<http::Response> whole_answer(Calls calls) {
  ImageCalls::Images all;
  while (calls->left() > 0) {
    auto making = ImageCalls::next(calls, calls->left());
    auto made = co_await std::move(making);
    if (!made) co_return std::move(made.error());
    for (auto& image : *made) all.push_back(std::move(image));
  }
  co_return http::Response::json(200, images::images_answer(calls->asked(), all, calls->now()));
}

std::string error_event(const http::Response& answer) {
  return protocol::sse_error_event(answer.failure ? *answer.failure
                                                  : protocol::parse_error_body(answer.head.status, answer.body.text()));
}

std::unique_ptr<Running> make_next(async::Executor executor, const Calls& calls) {
  return std::make_unique<Running>(executor, "image", ImageCalls::next(calls, 1));
}

// An event for each image, as soon as it is complete.
class ImageStream final : public http::BodySource {
 public:
  // `running`: makes the first image; or `made` has it.
  ImageStream(async::Executor executor, async::Timers& timers, Calls calls, std::unique_ptr<Running> running,
              std::optional<Made> made)
      : executor_(executor),
        timers_(timers),
        calls_(std::move(calls)),
        running_(std::move(running)),
        made_(std::move(made)) {}

  async::Task<Result<std::string_view>> read() override {
    if (ended_) co_return std::string_view();
    if (!made_) {
      if (!running_) running_ = make_next(executor_, calls_);
      const bool done = co_await running_->wait(timers_, kPingEvery);
      if (!done) co_return http::kSsePing;
      made_.emplace(running_->take());
      running_.reset();
    }
    const auto made = std::move(*made_);
    made_.reset();
    text_.clear();
    if (made) {
      for (const auto& image : *made) text_ += images::image_event(calls_->asked(), image, calls_->now());
    } else {
      text_ = error_event(made.error());
    }
    ended_ = !made || calls_->left() == 0;
    co_return std::string_view(text_);
  }

 private:
  const async::Executor executor_;
  async::Timers& timers_;
  const Calls calls_;
  std::unique_ptr<Running> running_;
  std::optional<Made> made_;
  std::string text_;
  bool ended_ = false;
};

// An error within a second has its own status; later it is one event.
async::Task<http::Response> events(async::Timers& timers, Calls calls) {
  const auto executor = co_await async::asio::this_coro::executor;
  auto first = make_next(executor, calls);
  std::optional<Made> made;
  const bool in_time = co_await first->wait(timers, kPingEvery);
  if (in_time) {
    made.emplace(first->take());
    first.reset();
    if (!*made) co_return std::move(made->error());
  }
  auto stream = std::make_unique<ImageStream>(executor, timers, std::move(calls), std::move(first), std::move(made));
  co_return http::Response::event_stream(std::move(stream));
}

}  // namespace

Filter image_filter(ImagesContext& context) {
  return [&context](CallPtr call, Next next) {
    if (call->type != ModelType::image) return next(std::move(call));
    auto calls = std::make_shared<ImageCalls>(context, std::move(call), next);
    return calls->asked().stream ? events(context.inference.core.timers, std::move(calls))
                                 : whole_answer(std::move(calls));
  };
}

}  // namespace corral::api
