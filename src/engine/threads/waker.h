// Callback of a handle's reader. The handle may be destroyed while the callback runs.
#pragma once

#include <functional>
#include <utility>

#include "base/mutex.h"

namespace corral::engine {

class Waker {
 public:
  // Returns when no call of the previous callback is running.
  void set(std::move_only_function<void()> call) {
    const MutexLock lock(mutex_);
    call_ = std::move(call);
  }
  void wake() {
    const MutexLock lock(mutex_);
    if (call_) call_();
  }

 private:
  Mutex mutex_;  // held during the call; StreamHandle::set_waker says what the call may do
  std::move_only_function<void()> call_ GUARDED_BY(mutex_);
};

}  // namespace corral::engine
