// Runs work that a decode thread must not wait for: file reads, dry runs, the release of large memory. In order.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace corral::engine {

class BackgroundExecutor {
 public:
  using BackgroundTask = std::move_only_function<void()>;

  virtual ~BackgroundExecutor() = default;
  // Any thread. Runs the task soon, on another thread; an exception of the task goes to the log and no further.
  // False: the task will not run, because too many wait or the system has no thread or memory.
  virtual bool run(BackgroundTask task) noexcept = 0;
};

// Releases a large object on the executor, since the release of hundreds of megabytes takes a while. Without an
// executor it happens here.
template <typename Large>
void give_back(const std::shared_ptr<BackgroundExecutor>& executor, Large large) noexcept {
  if (!executor) return;
  try {
    executor->run([large = std::move(large)] {});
  } catch (const std::bad_alloc&) {  // the move released it here
  }
}

// The thread starts with the first task. The destructor waits for the running task and drops the others.
class BackgroundThread final : public BackgroundExecutor {
 public:
  static constexpr std::size_t kMaxWaiting = 64;  // each may hold a lot

  BackgroundThread() = default;
  ~BackgroundThread() override;

  bool run(BackgroundTask task) noexcept override;
  // No task starts from now on.
  void close();

 private:
  void work();

  Mutex mutex_;
  Condition changed_;
  std::deque<BackgroundTask> tasks_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace corral::engine
