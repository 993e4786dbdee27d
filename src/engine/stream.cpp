#include "engine/stream.h"

#include <utility>

#include "engine/stream_state.h"

namespace corral::engine {

StreamHandle::StreamHandle(std::shared_ptr<StreamState> state) : state_(std::move(state)) {}
StreamHandle::StreamHandle(StreamHandle&&) noexcept = default;
StreamHandle& StreamHandle::operator=(StreamHandle&& other) noexcept {
  if (this != &other) {
    if (state_) state_->abandon();
    state_ = std::move(other.state_);
  }
  return *this;
}
StreamHandle::~StreamHandle() {
  if (state_) state_->abandon();
}

std::optional<StreamChunk> StreamHandle::next() { return state_ ? state_->next() : std::nullopt; }
std::optional<StreamChunk> StreamHandle::try_next() { return state_ ? state_->try_next() : std::nullopt; }
bool StreamHandle::finished() const { return !state_ || state_->finished(); }
void StreamHandle::set_waker(std::move_only_function<void()> waker) {
  if (state_) state_->set_waker(std::move(waker));
}
void StreamHandle::cancel() {
  if (state_) state_->cancel();
}

}  // namespace corral::engine
