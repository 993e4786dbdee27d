// A task that runs concurrently with the caller that waits for its result, so that the caller can do other work from
// time to time (send ": ping" on a stream).
#pragma once

#include <exception>
#include <memory>
#include <optional>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"

namespace corral::async {

// Belongs to the loop it was started on. Its destructor cancels the task.
template <typename T>
class SpawnedTask {
 public:
  SpawnedTask(Executor executor, const char* name, Task<T> task) : state_(std::make_shared<State>(executor)) {
    state_->group.spawn(name, run(state_, std::move(task)));
  }
  ~SpawnedTask() { state_->group.cancel(); }
  SpawnedTask(const SpawnedTask&) = delete;
  SpawnedTask& operator=(const SpawnedTask&) = delete;

  // True once the task has ended, false when `limit` passed first.
  Task<bool> wait(Timers& timers, Millis limit) {
    if (state_->done.is_set()) co_return true;
    auto waiting = until_done(state_);
    const auto ended = co_await with_timeout(timers, limit, std::move(waiting));
    co_return ended.has_value();
  }
  // The result, or the exception that ended the task. After wait() returned true, once.
  T take() {
    if (state_->failure) std::rethrow_exception(state_->failure);
    return std::move(*state_->result);
  }

 private:
  struct State {
    explicit State(Executor executor) : done(executor), group(executor) {}
    Event done;
    std::optional<T> result;
    std::exception_ptr failure;
    TaskGroup group;
  };

  static Task<void> run(std::shared_ptr<State> state, Task<T> task) {
    try {
      state->result.emplace(co_await std::move(task));
    } catch (...) {
      state->failure = std::current_exception();
    }
    state->done.set();
  }
  static Task<bool> until_done(std::shared_ptr<State> state) {
    co_await state->done.wait();
    co_return true;
  }

  std::shared_ptr<State> state_;
};

}  // namespace corral::async
