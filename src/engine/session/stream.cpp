#include "engine/session/stream.h"

#include <utility>

#include "engine/session/stream_state.h"

namespace corral::engine {

StreamHandle::StreamHandle(std::shared_ptr<StreamState> state) : state_(std::move(state)) {}
StreamHandle::StreamHandle(StreamHandle&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)), over_(std::exchange(other.over_, nullptr)) {}
StreamHandle& StreamHandle::operator=(StreamHandle&& other) noexcept {
  if (this != &other) {
    leave();
    state_ = std::exchange(other.state_, nullptr);
    over_ = std::exchange(other.over_, nullptr);
  }
  return *this;
}
StreamHandle::~StreamHandle() { leave(); }

void StreamHandle::leave() {
  if (state_) state_->abandon();
  call_over();
}

void StreamHandle::call_over() {
  if (auto over = std::exchange(over_, nullptr)) over();
}

std::optional<StreamChunk> StreamHandle::taken(std::optional<StreamChunk> chunk) {
  if (chunk && chunk->finish) call_over();
  return chunk;
}

std::optional<StreamChunk> StreamHandle::next() { return state_ ? taken(state_->next()) : std::nullopt; }
std::optional<StreamChunk> StreamHandle::try_next() { return state_ ? taken(state_->try_next()) : std::nullopt; }
bool StreamHandle::finished() const { return !state_ || state_->finished(); }
void StreamHandle::set_waker(std::move_only_function<void()> waker) {
  if (state_) state_->set_waker(std::move(waker));
}
void StreamHandle::when_over(std::move_only_function<void()> over) { over_ = std::move(over); }
void StreamHandle::cancel() {
  if (state_) state_->cancel();
}

}  // namespace corral::engine
