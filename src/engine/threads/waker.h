// Callback of a handle's reader. The handle may be destroyed while the callback runs.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace corral::engine {

class Waker {
 public:
  // Returns when no call of the previous callback is running.
  void set(std::move_only_function<void()> call) {
    const std::scoped_lock lock(mutex_);
    call_ = std::move(call);
  }
  void wake() {
    const std::scoped_lock lock(mutex_);
    if (call_) call_();
  }

 private:
  std::mutex mutex_;  // held during the call; StreamHandle::set_waker says what the call may do
  std::move_only_function<void()> call_;
};

}  // namespace corral::engine
