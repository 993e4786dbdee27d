// The reader's call-back of a handle, safe against the handle going away while it runs.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace corral::engine {

class Waker {
 public:
  // Returns when no call of the former one is running.
  void set(std::move_only_function<void()> call) {
    const std::scoped_lock lock(mutex_);
    call_ = std::move(call);
  }
  void wake() {
    const std::scoped_lock lock(mutex_);
    if (call_) call_();
  }

 private:
  std::mutex mutex_;  // held during the call: what the call may do stands at StreamHandle::set_waker
  std::move_only_function<void()> call_;
};

}  // namespace corral::engine
