// Work that would block a loop (parsing megabytes, scanning a disk) goes to a few threads of their own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include "async/task.h"

namespace corral::async {

class ThreadPool {
 public:
  explicit ThreadPool(std::size_t threads) : pool_(threads) {}
  ~ThreadPool() { finish(); }

  // Lets running jobs end and starts no others: for owners of what jobs use, before that goes.
  void finish() {
    pool_.stop();
    pool_.join();
  }

  // The same, but waits for so long only. False: a job still runs. For those who end the whole process then.
  bool finish_within(std::chrono::milliseconds limit) {
    pool_.stop();
    std::unique_lock lock(mutex_);
    return none_runs_.wait_for(lock, limit, [this] { return running_ == 0; });
  }

  // Runs `work` on a thread of the pool; nobody waits for it. What it uses must outlive finish().
  void post(std::move_only_function<void()> work) {
    asio::post(pool_, [this, job = std::move(work)]() mutable {
      const Job running(*this);
      job();
    });
  }

  // The same, after `delay`. Not at all if the pool finishes before.
  void post_after(std::chrono::milliseconds delay, std::move_only_function<void()> work) {
    auto timer = std::make_shared<asio::steady_timer>(pool_, delay);
    timer->async_wait([this, timer, job = std::move(work)](const boost::system::error_code& error) mutable {
      if (error) return;
      const Job running(*this);
      job();
    });
  }

  // Runs `work` on a thread of the pool and returns its result on the caller's loop. A caller that is cancelled before
  // the turn of its work has come gets it skipped. Once started the work runs to its end, so it must own what it uses.
  template <typename Work, typename R = std::invoke_result_t<Work>>
  Task<R> run(Work work) {
    const auto home = co_await asio::this_coro::executor;
    auto start = [this, home](auto handler, Work job) {
      auto unwanted = std::make_shared<std::atomic<bool>>(false);
      if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected())
        slot.assign([unwanted](asio::cancellation_type) { *unwanted = true; });
      auto run_job = [home, unwanted, handler = std::move(handler), job = std::move(job)]() mutable {
        std::exception_ptr failure;
        std::optional<R> result;
        const bool skipped = *unwanted;
        try {
          if (!skipped) result.emplace(job());
        } catch (...) {
          failure = std::current_exception();
        }
        auto deliver = [handler = std::move(handler), skipped, failure, result = std::move(result)]() mutable {
          asio::get_associated_cancellation_slot(handler).clear();
          if (skipped) failure = std::make_exception_ptr(boost::system::system_error(asio::error::operation_aborted));
          std::move(handler)(failure, std::move(result));
        };
        asio::post(home, std::move(deliver));
      };
      post(std::move(run_job));
    };
    auto result = co_await asio::async_initiate<const asio::use_awaitable_t<Executor>,
                                                void(std::exception_ptr, std::optional<R>)>(std::move(start), use_task,
                                                                                            std::move(work));
    co_return std::move(*result);
  }

 private:
  // Counts along what runs.
  struct Job {
    explicit Job(ThreadPool& owner) : pool(owner) {
      const std::scoped_lock lock(pool.mutex_);
      ++pool.running_;
    }
    ~Job() {
      const std::scoped_lock lock(pool.mutex_);
      if (--pool.running_ == 0) pool.none_runs_.notify_all();
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    ThreadPool& pool;
  };

  std::mutex mutex_;
  std::condition_variable none_runs_;
  int running_ = 0;
  asio::thread_pool pool_;
};

}  // namespace corral::async
