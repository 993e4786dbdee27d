#include "proc/stop.h"

#include <csignal>

#include "base/log.h"

namespace corral::proc {

async::Task<ExitStatus> stop_gracefully(Child* child, async::Timers* timers, MonoClock::duration grace) {
  if (grace <= MonoClock::duration::zero()) {
    child->kill(SIGKILL);
    co_return co_await child->wait();
  }
  child->kill(SIGTERM);
  auto end = child->wait();
  const auto status = co_await async::with_timeout(*timers, grace, std::move(end));
  if (status) co_return *status;
  const auto state = co_await async::asio::this_coro::cancellation_state;
  if (state.cancelled() == async::asio::cancellation_type::none && child->alive()) {
    log::warning("proc", "{} (pid {}) doesn't heed SIGTERM: killed", child->name(), child->pid());
    child->kill(SIGKILL);
  }
  co_return co_await child->wait();  // throws if this task was cancelled
}

}  // namespace corral::proc
