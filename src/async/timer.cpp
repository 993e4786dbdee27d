#include "async/timer.h"

#include <algorithm>

#include "async/event.h"

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
  if (when <= now_) co_return;
  Sleeper sleeper(*this, when);
  co_await sleeper.wake.wait();
}

void ManualTimers::advance(MonoClock::duration duration) {
  now_ += duration;
  for (auto* sleeper : sleepers_) {
    if (sleeper->due <= now_) sleeper->wake.set();
  }
}

}  // namespace corral::async
