#include "router/lease.h"

#include "router/running.h"

namespace corral::router {

Lease::Lease(std::shared_ptr<Running> running, std::move_only_function<void()> give_back)
    : running_(std::move(running)), give_back_(std::move(give_back)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  give_back();
  running_ = std::move(other.running_);
  give_back_ = std::exchange(other.give_back_, {});
  streams_ = std::exchange(other.streams_, false);
  return *this;
}

void Lease::mark_streaming() {
  if (!running_ || std::exchange(streams_, true)) return;
  ++running_->streams;
}

void Lease::give_back() {
  if (!running_) return;
  if (std::exchange(streams_, false)) --running_->streams;
  running_.reset();
  if (auto call = std::exchange(give_back_, {})) call();
}

http::Target& Lease::target(async::Executor executor) const { return running_->server->target(executor); }

std::uint64_t Lease::context_window() const { return running_->context_window; }

async::Task<std::string> Lease::until_gone() const {
  const auto running = running_;
  auto wait = [](std::shared_ptr<Running> on) -> async::Task<std::string> {
    co_await on->gone.wait();
    co_return on->end;
  };
  auto waiting = wait(running);
  co_return co_await async::run_on(running->home, std::move(waiting));
}

}  // namespace corral::router
