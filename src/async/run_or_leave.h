// Long work on a thread, for callers that mustn't wait for its end when they are cancelled.
#pragma once

#include <memory>
#include <utility>

#include "async/offload.h"
#include "async/spawned_task.h"

namespace corral::async {

// As ThreadPool::run(), but a caller that is cancelled goes at once, though the work may still run: it must own what it
// uses, and look now and then whether it is still wanted.
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
