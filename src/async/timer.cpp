#include "async/timer.h"

#include <algorithm>

#include "async/event.h"
#include "async/parallel_group.h"

namespace corral::async {

Task<void> SystemTimers::sleep_until(MonoTime when) {
  using Timer = asio::basic_waitable_timer<MonoClock, asio::wait_traits<MonoClock>, Executor>;
  Timer timer(co_await asio::this_coro::executor, when);
  co_await timer.async_wait(use_task);
}

struct ManualTimers::Sleeper {
  Sleeper(ManualTimers& owner, MonoTime due_at) : timers(owner), due(due_at), wake(owner.executor_) {
    timers.sleepers_.push_back(this);
  }
  ~Sleeper() { std::erase(timers.sleepers_, this); }

  ManualTimers& timers;
  MonoTime due;
  Event wake;
};

Task<void> ManualTimers::sleep_until(MonoTime when) {
  if (when <= now()) co_return;
  Sleeper sleeper(*this, when);
  co_await sleeper.wake.wait();
}

void ManualTimers::advance(MonoClock::duration duration) {
  now_ = now() + duration;
  for (auto* sleeper : sleepers_) {
    if (sleeper->due <= now()) sleeper->wake.set();
  }
}

Task<detail::RaceEnd> detail::race_tasks(Task<void> task, Task<void> other) {
  const auto executor = co_await asio::this_coro::executor;
  auto work = asio::co_spawn(executor, std::move(task), asio::deferred);
  auto rival = asio::co_spawn(executor, std::move(other), asio::deferred);
  auto group = asio::experimental::make_parallel_group(std::move(work), std::move(rival));
  auto [order, failure, rival_failure] = co_await group.async_wait(asio::experimental::wait_for_one(), use_task);
  // A caller that was cancelled cancels both, and either may unwind first.
  const auto caller = co_await asio::this_coro::cancellation_state;
  const bool cancelled = caller.cancelled() != asio::cancellation_type::none;
  co_return RaceEnd{.failure = failure, .other_was_first = order[0] != 0 && !cancelled};
}

}  // namespace corral::async
