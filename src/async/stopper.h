// A way to end a task from beside it that costs nothing while nobody does: no second task waits for the order.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "async/task.h"

namespace corral::async {

// One order to stop, given once; for the tasks of one request. On one loop; the copies are the same order.
class Stopper {
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
    if (state->stopped) co_return std::nullopt;
    const auto executor = co_await asio::this_coro::executor;
    auto start = [executor, state](auto handler, Task<T> work) {
      auto slot = asio::get_associated_cancellation_slot(handler);
      if (slot.is_connected()) slot.assign([state](asio::cancellation_type type) { state->signal.emit(type); });
      auto done = [state, slot, handler = std::move(handler)](std::exception_ptr failure, T value) mutable {
        slot.clear();
        const bool ended = failure && state->stopped;
        auto result = ended ? std::nullopt : std::optional<T>(std::move(value));
        std::move(handler)(ended ? nullptr : std::move(failure), std::move(result));
      };
      asio::co_spawn(executor, std::move(work), asio::bind_cancellation_slot(state->signal.slot(), std::move(done)));
    };
    using Token = const asio::use_awaitable_t<Executor>;
    co_return co_await asio::async_initiate<Token, void(std::exception_ptr, std::optional<T>)>(
        std::move(start), use_task, std::move(task));
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace corral::async
