#include "backends/external/request_limit.h"

#include <vector>

#include <fmt/format.h>

#include "backends/errors.h"
#include "backends/external/errors.h"

namespace corral::backends {

Error RequestLimit::given_up() const {
  return {make_error_code(errc::backend_died), fmt::format("the backend of '{}' ended or was given up", model_)};
}

Error RequestLimit::stalled() const {
  return {make_error_code(external::errc::stalled),
          fmt::format("the backend of '{}' made no progress with this request for {} s: if it needs longer, set "
                      "request_timeout in its descriptor or in models.toml",
                      model_, std::chrono::duration<double>(limit_).count())};
}

void RequestLimit::give_up() {
  std::vector<std::shared_ptr<WatchedRequest>> ending;
  {
    const MutexLock lock(mutex_);
    given_up_ = true;
    for (const auto& [key, request] : running_) {
      if (auto running = request.lock()) ending.push_back(std::move(running));
    }
  }
  for (auto& request : ending) {
    const auto executor = request->executor_;
    async::asio::post(executor, [request = std::move(request)] {
      if (!request->failure_) request->failure_ = request->limit_->given_up();
      request->wake_.set();
    });
  }
}

std::shared_ptr<WatchedRequest> WatchedRequest::begin(std::shared_ptr<RequestLimit> limit, async::Executor executor) {
  const std::shared_ptr<WatchedRequest> request(new WatchedRequest(std::move(limit), executor));
  auto& all = *request->limit_;
  const MutexLock lock(all.mutex_);
  if (all.given_up_) {
    request->failure_ = all.given_up();
  } else {
    all.running_.emplace(request.get(), request);
  }
  return request;
}

WatchedRequest::~WatchedRequest() {
  const MutexLock lock(limit_->mutex_);
  limit_->running_.erase(this);
}

async::Task<bool> WatchedRequest::until_woken(std::shared_ptr<WatchedRequest> request) {
  co_await request->wake_.wait();
  co_return true;
}

async::Task<void> WatchedRequest::until_over(std::shared_ptr<WatchedRequest> request) {
  auto& timers = request->limit_->timers_;
  const Millis limit = request->limit_->limit_;
  while (!request->failure_) {
    const auto due = request->since_.value_or(timers.now()) + limit;
    if (due <= timers.now()) {
      request->failure_ = request->limit_->stalled();
      co_return;
    }
    auto waking = until_woken(request);
    (void)co_await async::with_timeout(timers, due - timers.now(), std::move(waking));
  }
}

async::Task<Result<http::Response>> WatchedRequest::limited(std::shared_ptr<WatchedRequest> request,
                                                            async::Task<Result<http::Response>> answering) {
  if (request->failure_) co_return std::unexpected(*request->failure_);
  auto over = until_over(request);
  auto answer = co_await async::race(std::move(answering), std::move(over));
  // A cancelled client may also return an error of its own.
  if (request->failure_) co_return std::unexpected(*request->failure_);
  co_return std::move(*answer);
}

}  // namespace corral::backends
