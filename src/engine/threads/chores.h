// Work that a decode thread must not wait for: files to be read, dry runs, large memory given back. In the order it
// came.
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

class Chores {
 public:
  using Chore = std::move_only_function<void()>;

  virtual ~Chores() = default;
  // Any thread. It runs soon, on another thread; what it throws is told in the log and goes no further. False: it won't
  // run, for too many wait, or the system gives no thread or no memory.
  virtual bool run(Chore chore) noexcept = 0;
};

// To give back hundreds of megabytes takes a while. Without chores it is done here.
template <typename Large>
void give_back(const std::shared_ptr<Chores>& chores, Large large) noexcept {
  if (!chores) return;
  try {
    chores->run([large = std::move(large)] {});
  } catch (const std::bad_alloc&) {  // it went here
  }
}

// The thread starts with the first chore. The destructor waits for the one that runs; the others are dropped.
class ChoreThread final : public Chores {
 public:
  static constexpr std::size_t kMostWaiting = 64;  // each may hold a lot

  ChoreThread() = default;
  ~ChoreThread() override;

  bool run(Chore chore) noexcept override;
  // No other chore begins from now on.
  void close();

 private:
  void work();

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Chore> chores_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace corral::engine
