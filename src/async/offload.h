// Threads for work that would block a loop (parsing megabytes, scanning a disk).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/thread_pool.hpp>

#include "async/task.h"
#include "base/mutex.h"

namespace corral::async {

class ThreadPool {
 public:
  explicit ThreadPool(std::size_t threads) : pool_(threads) {}
  ~ThreadPool() { finish(); }

  // Lets running jobs end and starts no others. Call it before objects that jobs use are destroyed.
  void finish() {
    pool_.stop();
    pool_.join();
  }

  // The same, but waits at most for `limit`. False: a job still runs. For callers that end the whole process then.
  bool finish_within(std::chrono::milliseconds limit) {
    pool_.stop();
    MutexLock lock(mutex_);
    return none_runs_.wait_for(lock, limit, [this]() REQUIRES(mutex_) { return running_ == 0; });
  }

  // Runs `work` on a thread of the pool, without a result. Objects that it uses must outlive finish().
  void post(std::move_only_function<void()> work);

  // The same, after `delay`. Not at all if the pool finishes first.
  void post_after(std::chrono::milliseconds delay, std::move_only_function<void()> work);

  // Runs `work` on a thread of the pool and returns its result on the caller's loop. If the caller is cancelled before
  // the work starts, the work is skipped. Once started, the work runs to its end, so it must own the data that it uses.
  template <typename Work, typename R = std::invoke_result_t<Work>>
  Task<R> run(Work work) {
    auto result = std::make_shared<std::optional<R>>();
    std::move_only_function<void()> job = [result, work = std::move(work)]() mutable { result->emplace(work()); };
    co_await run_job(std::move(job));
    co_return std::move(**result);
  }

 private:
  Task<void> run_job(std::move_only_function<void()> job);

  // Counts running jobs.
  struct Job {
    explicit Job(ThreadPool& owner) : pool(owner) {
      const MutexLock lock(pool.mutex_);
      ++pool.running_;
    }
    ~Job() {
      const MutexLock lock(pool.mutex_);
      if (--pool.running_ == 0) pool.none_runs_.notify_all();
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    ThreadPool& pool;
  };

  Mutex mutex_;
  Condition none_runs_;
  int running_ GUARDED_BY(mutex_) = 0;
  asio::thread_pool pool_;
};

}  // namespace corral::async
