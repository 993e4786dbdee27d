// Long work on a thread, for callers that must not wait for its end after a cancellation.
#pragma once

#include <memory>
#include <utility>

#include "async/offload.h"
#include "async/spawned_task.h"

namespace corral::async {

// Like ThreadPool::run(), but a cancelled caller returns at once, even while the work still runs. The work must own its
// data, and should check for cancellation itself.
template <typename Work, typename R = std::invoke_result_t<Work>>
Task<R> run_or_leave(ThreadPool& pool, Timers& timers, Work work) {
  const auto executor = co_await asio::this_coro::executor;
  constexpr Millis kTurn{60'000};
  SpawnedTask<R> running(executor, "work on a thread", pool.run(std::move(work)));
  while (true) {
    const bool done = co_await running.wait(timers, kTurn);
    if (done) co_return running.take();
  }
}

}  // namespace corral::async
