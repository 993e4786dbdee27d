// Event loops: one io_context, one thread, one queue each. Objects of a loop are used only on that loop, so they need
// no lock.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "async/task.h"

namespace corral::async {

class Loop {
 public:
  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  asio::io_context& context() { return context_; }
  Executor executor() { return context_.get_executor(); }

  // Runs until stop(). Called by exactly one thread.
  void run();
  // Runs until no work is left. For tests and programs without long-lived servers.
  void drain();
  // From any thread. Work that is still queued stays queued.
  void stop();
  // From any thread: run `work` on the loop soon.
  void post(std::move_only_function<void()> work);

 private:
  asio::io_context context_;
  std::optional<asio::executor_work_guard<Executor>> keep_alive_;
};

// `count` loops. The first is the home loop: run by the caller of run(), the others by threads of the pool.
class LoopPool {
 public:
  explicit LoopPool(std::size_t count);
  ~LoopPool();

  Loop& home() { return *loops_.front(); }
  Loop& at(std::size_t index) { return *loops_[index % loops_.size()]; }
  std::size_t size() const { return loops_.size(); }

  // Runs the home loop on the calling thread and the others on their own; returns when all have stopped.
  void run();
  // From any thread.
  void stop();

 private:
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::jthread> threads_;
};

// Runs `task` to its end on its own loop and returns its result. For tests and for short programs.
template <typename T>
T run_blocking(Loop& loop, Task<T> task) {
  if constexpr (std::is_void_v<T>) {
    std::exception_ptr failure;
    asio::co_spawn(loop.executor(), std::move(task), [&](std::exception_ptr error) {
      failure = error;
      loop.stop();
    });
    loop.run();
    if (failure) std::rethrow_exception(failure);
  } else {
    std::exception_ptr failure;
    std::optional<T> result;
    asio::co_spawn(loop.executor(), std::move(task), [&](std::exception_ptr error, T value) {
      failure = error;
      result.emplace(std::move(value));
      loop.stop();
    });
    loop.run();
    if (failure) std::rethrow_exception(failure);
    return std::move(*result);
  }
}

}  // namespace corral::async
