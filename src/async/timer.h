// Timers behind an interface, so that tests can control the clock.
#pragma once

#include <atomic>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "async/task.h"
#include "base/clock.h"

namespace corral::async {

// A clock on which tasks can wait. Owned by the composition root.
class Timers : public Clock {
 public:
  // Returns at `when` or later. Cancellable.
  virtual Task<void> sleep_until(MonoTime when) = 0;
  Task<void> sleep_for(MonoClock::duration duration) { return sleep_until(now() + duration); }
};

class SystemTimers final : public Timers {
 public:
  MonoTime now() const override { return MonoClock::now(); }
  WallTime wall_now() const override { return std::chrono::system_clock::now(); }
  Task<void> sleep_until(MonoTime when) override;
};

// A clock that only advance() moves. All calls on one loop, except now().
class ManualTimers final : public Timers {
 public:
  explicit ManualTimers(Executor executor) : executor_(executor) {}

  MonoTime now() const override { return now_.load(); }
  WallTime wall_now() const override {
    return WallTime(std::chrono::duration_cast<WallTime::duration>(now().time_since_epoch()));
  }
  Task<void> sleep_until(MonoTime when) override;
  // Moves the clock; every due sleeper wakes on the next turn of the loop.
  void advance(MonoClock::duration duration);
  std::size_t sleepers() const { return sleepers_.size(); }

 private:
  struct Sleeper;
  Executor executor_;
  std::atomic<MonoTime> now_{MonoTime(std::chrono::hours(24))};
  std::vector<Sleeper*> sleepers_;
};

namespace detail {

// The end of a race: the exception of `task`, and whether `other` was first.
struct RaceEnd {
  std::exception_ptr failure;
  bool other_was_first = false;
};
// The core of race(): compiled once, not for each type of result.
Task<RaceEnd> race_tasks(Task<void> task, Task<void> other);

}  // namespace detail

// The result of `task`, or nullopt if `other` ended first (the task is cancelled and has unwound by then). An exception
// of the task propagates.
template <typename T>
Task<std::optional<T>> race(Task<T> task, Task<void> other) {
  std::optional<T> value;
  auto work = detail::store_result(std::move(task), &value);
  auto both = detail::race_tasks(std::move(work), std::move(other));
  const auto end = co_await std::move(both);
  if (end.failure && !end.other_was_first) std::rethrow_exception(end.failure);
  if (end.failure) co_return std::nullopt;
  co_return value;
}

// The same, with nullopt after `limit`.
template <typename T>
Task<std::optional<T>> with_timeout(Timers& timers, MonoClock::duration limit, Task<T> task) {
  return race(std::move(task), timers.sleep_for(limit));
}

}  // namespace corral::async
