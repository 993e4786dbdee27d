#include "router/base/lease.h"

namespace corral::router {
namespace {

// Keeps the upstream alive during the wait.
async::Task<UpstreamExit> until_gone_of(std::shared_ptr<Upstream> upstream) {
  co_return co_await upstream->wait_for_exit();
}

}  // namespace

Lease::Lease(std::shared_ptr<Upstream> upstream, std::move_only_function<void()> give_back)
    : upstream_(std::move(upstream)), give_back_(std::move(give_back)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  give_back();
  upstream_ = std::move(other.upstream_);
  give_back_ = std::exchange(other.give_back_, {});
  streams_ = std::exchange(other.streams_, false);
  return *this;
}

void Lease::mark_streaming() {
  if (!upstream_ || std::exchange(streams_, true)) return;
  upstream_->stream_began();
}

void Lease::give_back() {
  if (!upstream_) return;
  if (std::exchange(streams_, false)) upstream_->stream_ended();
  upstream_.reset();
  if (auto call = std::exchange(give_back_, {})) call();
}

async::Task<UpstreamExit> Lease::wait_for_exit() const { return until_gone_of(upstream_); }

}  // namespace corral::router
