// A way to end a task from beside it that costs nothing while nobody does: no second task waits for the order.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "async/task.h"

namespace corral::async {

// One order to stop, given once; for the tasks of one request. On one loop; the copies are the same order.
class CancelSource {
 public:
  bool stopped() const { return state_->stopped; }

  // Cancels the task that runs, if one does; later ones don't begin.
  void stop() const {
    const auto state = state_;  // the task may end the owner of this object
    state->stopped = true;
    state->signal.emit(asio::cancellation_type::terminal);
  }

  // The result of `task`, or nullopt when the order came first (the task is cancelled and has unwound by then). An
  // exception of the task passes on, and cancelling the caller cancels the task. One task at a time.
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
  // Whether `task` came to its end; false: it was stopped.
  static Task<bool> run_stoppable(std::shared_ptr<State> state, Task<void> task);

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace corral::async
