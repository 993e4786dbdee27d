#include "router/base/lease.h"

namespace corral::router {
namespace {

// Keeps the upstream alive during the wait.
async::Task<UpstreamExit> until_gone_of(std::shared_ptr<Upstream> answering) {
  co_return co_await answering->wait_for_exit();
}

}  // namespace

Lease::Lease(std::shared_ptr<Upstream> answering, std::move_only_function<void()> give_back)
    : answering_(std::move(answering)), give_back_(std::move(give_back)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  give_back();
  answering_ = std::move(other.answering_);
  give_back_ = std::exchange(other.give_back_, {});
  streams_ = std::exchange(other.streams_, false);
  return *this;
}

void Lease::mark_streaming() {
  if (!answering_ || std::exchange(streams_, true)) return;
  answering_->stream_began();
}

void Lease::give_back() {
  if (!answering_) return;
  if (std::exchange(streams_, false)) answering_->stream_ended();
  answering_.reset();
  if (auto call = std::exchange(give_back_, {})) call();
}

async::Task<UpstreamExit> Lease::wait_for_exit() const { return until_gone_of(answering_); }

}  // namespace corral::router
