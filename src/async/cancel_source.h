// Cancels a task from outside, at no cost while no cancellation happens: no second task waits for it.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "async/task.h"

namespace corral::async {

// One cancellation, for the tasks of one request. On one loop; copies share their state.
class CancelSource {
 public:
  bool stopped() const { return state_->stopped; }

  // Cancels the running task, if any; later ones don't begin.
  void stop() const {
    const auto state = state_;  // the task may destroy the owner of this object
    state->stopped = true;
    state->signal.emit(asio::cancellation_type::terminal);
  }

  // The result of `task`, or nullopt if stop() came first (the task is cancelled and has unwound by then). An exception
  // of the task propagates, and cancelling the caller cancels the task. One task at a time.
  template <typename T>
  Task<std::optional<T>> run(Task<T> task) const {
    return run_under(state_, std::move(task));
  }

 private:
  struct State {
    bool stopped = false;
    asio::cancellation_signal signal;
  };

  template <typename T>
  static Task<std::optional<T>> run_under(std::shared_ptr<State> state, Task<T> task) {
    std::optional<T> result;
    auto stored = detail::store_result(std::move(task), &result);
    const bool ended = co_await run_stoppable(std::move(state), std::move(stored));
    if (!ended) result.reset();
    co_return result;
  }
  // Whether `task` ended; false: it was stopped.
  static Task<bool> run_stoppable(std::shared_ptr<State> state, Task<void> task);

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace corral::async
