// Runs work that a decode thread must not wait for: file reads, dry runs, the release of large memory. In order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace corral::engine {

class BackgroundExecutor {
 public:
  using Chore = std::move_only_function<void()>;

  virtual ~BackgroundExecutor() = default;
  // Any thread. It runs soon, on another thread; what it throws is told in the log and goes no further. False: it won't
  // run, for too many wait, or the system gives no thread or no memory.
  virtual bool run(Chore chore) noexcept = 0;
};

// To give back hundreds of megabytes takes a while. Without chores it is done here.
template <typename Large>
void give_back(const std::shared_ptr<BackgroundExecutor>& executor, Large large) noexcept {
  if (!executor) return;
  try {
    executor->run([large = std::move(large)] {});
  } catch (const std::bad_alloc&) {  // it went here
  }
}

// The thread starts with the first chore. The destructor waits for the one that runs; the others are dropped.
class BackgroundThread final : public BackgroundExecutor {
 public:
  static constexpr std::size_t kMaxWaiting = 64;  // each may hold a lot

  BackgroundThread() = default;
  ~BackgroundThread() override;

  bool run(Chore chore) noexcept override;
  // No other chore begins from now on.
  void close();

 private:
  void work();

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Chore> executor_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace corral::engine
