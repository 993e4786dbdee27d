// Waiting for time to pass, through an object, so that tests turn the clock by hand.
#pragma once

// clang-format off: parallel_group.hpp doesn't include what it needs
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
// clang-format on

#include <optional>
#include <vector>

#include "async/task.h"
#include "base/clock.h"

namespace corral::async {

// A clock that tasks can also wait on. Owned by the composition root.
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

// Time that moves only when told to. All calls on one loop.
class ManualTimers final : public Timers {
 public:
  explicit ManualTimers(Executor executor) : executor_(executor) {}

  MonoTime now() const override { return now_; }
  WallTime wall_now() const override {
    return WallTime(std::chrono::duration_cast<WallTime::duration>(now_.time_since_epoch()));
  }
  Task<void> sleep_until(MonoTime when) override;
  // Moves the clock; every sleeper that is due wakes on the next turn of the loop.
  void advance(MonoClock::duration duration);
  std::size_t sleepers() const { return sleepers_.size(); }

 private:
  struct Sleeper;
  Executor executor_;
  MonoTime now_{std::chrono::hours(24)};
  std::vector<Sleeper*> sleepers_;
};

// The result of `task`, or nullopt when `other` ended first (the task is cancelled and has unwound by then).
// An exception of the task passes on.
template <typename T>
Task<std::optional<T>> race(Task<T> task, Task<void> other) {
  const auto executor = co_await asio::this_coro::executor;
  auto work = asio::co_spawn(executor, std::move(task), asio::deferred);
  auto rival = asio::co_spawn(executor, std::move(other), asio::deferred);
  auto group = asio::experimental::make_parallel_group(std::move(work), std::move(rival));
  auto [order, failure, value, rival_failure] = co_await group.async_wait(asio::experimental::wait_for_one(), use_task);
  if (order[0] != 0 && failure) co_return std::nullopt;  // ended by its rival
  if (failure) std::rethrow_exception(failure);
  co_return std::optional<T>(std::move(value));
}

// The same when `limit` passed first.
template <typename T>
Task<std::optional<T>> with_timeout(Timers& timers, MonoClock::duration limit, Task<T> task) {
  return race(std::move(task), timers.sleep_for(limit));
}

}  // namespace corral::async
