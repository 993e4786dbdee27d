#include "engine/pooled/pooled_state.h"

#include <utility>

#include "engine/values/errors.h"

namespace corral::engine {

void PooledState::begin(MonoTime now) {
  const MutexLock lock(mutex_);
  if (!begun_) begun_ = now;
}

void PooledState::set(std::size_t input, std::vector<float> values, MonoTime now) {
  MutexLock lock(mutex_);
  result_.values[input] = std::move(values);
  result_.tokens += static_cast<std::uint32_t>(job_.inputs[input].size());
  if (++computed_ < job_.inputs.size()) return;
  if (begun_) result_.compute_ms = std::chrono::duration<double, std::milli>(now - *begun_).count();
  if (!complete(std::move(result_))) return;
  lock.unlock();
  announce();
}

void PooledState::set_failed(Error error) {
  MutexLock lock(mutex_);
  if (!complete(std::unexpected(std::move(error)))) return;
  lock.unlock();
  announce();
}

bool PooledState::complete(Result<PooledResult> outcome) {
  if (std::exchange(done_, true)) return false;
  outcome_ = std::move(outcome);
  place_ = {};
  return true;
}

void PooledState::announce() {
  changed_.notify_all();
  waker_.wake();
}

bool PooledState::done() const {
  const MutexLock lock(mutex_);
  return done_;
}

Result<PooledResult> PooledState::get() {
  MutexLock lock(mutex_);
  changed_.wait(lock, [this]() REQUIRES(mutex_) { return done_; });
  if (!outcome_) return fail(errc::invalid_argument, "the result was taken already");
  return *std::exchange(outcome_, std::nullopt);
}

std::optional<Result<PooledResult>> PooledState::try_get() {
  const MutexLock lock(mutex_);
  return std::exchange(outcome_, std::nullopt);
}

void PooledState::set_waker(std::move_only_function<void()> waker) {
  waker_.set(std::move(waker));
  if (done()) waker_.wake();
}

void PooledState::abandon() {
  waker_.set({});
  cancelled_ = true;
}

PooledHandle::PooledHandle(std::shared_ptr<PooledState> state) : state_(std::move(state)) {}
PooledHandle::PooledHandle(PooledHandle&&) noexcept = default;
PooledHandle& PooledHandle::operator=(PooledHandle&& other) noexcept {
  if (this != &other) {
    if (state_) state_->abandon();
    state_ = std::move(other.state_);
  }
  return *this;
}
PooledHandle::~PooledHandle() {
  if (state_) state_->abandon();
}
Result<PooledResult> PooledHandle::get() {
  if (!state_) return fail(errc::invalid_argument, "an empty handle has no result");
  return state_->get();
}
std::optional<Result<PooledResult>> PooledHandle::try_get() { return state_ ? state_->try_get() : std::nullopt; }
void PooledHandle::set_waker(std::move_only_function<void()> waker) {
  if (state_) state_->set_waker(std::move(waker));
}

}  // namespace corral::engine
