// Tests with a manual clock must know when no event is left that needs no time. A pause on the loop proves nothing: on
// a busy machine a thread or the kernel may only be late. These functions wait until no work is left.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/loopback_for_tests.h"
#include "async/offload.h"

namespace corral::async {

// Waits until `pool` has done all earlier jobs. `pool` has one thread, which runs them in order, and isn't finished.
inline void finish_jobs(ThreadPool& pool) {
  const auto reached = std::make_shared<std::promise<void>>();
  pool.post([reached] { reached->set_value(); });
  reached->get_future().wait();
}

// Runs the loop until it has nothing to do and the pools have no job. Ends early if `done` returns true; it is called
// before each step.
inline bool settle(Loop& loop, std::span<ThreadPool* const> pools, const std::function<bool()>& done) {
  auto& context = loop.context();
  while (!done()) {
    if (context.poll_one() > 0) continue;
    for (auto* pool : pools) finish_jobs(*pool);
    if (context.poll_one() == 0) return done();
  }
  return true;
}
inline void settle(Loop& loop, std::span<ThreadPool* const> pools) {
  settle(loop, pools, [] { return false; });
}

// Runs the loop until only time can cause events: it has nothing to do, and no socket of this process will change
// automatically. False: it didn't reach that state.
inline bool settle_sockets(Loop& loop) {
  auto& context = loop.context();
  constexpr int kWaits = 20'000;
  std::string what;
  for (int waits = 0; waits < kWaits;) {
    while (context.poll() > 0) waits = 0;
    what = LoopbackSockets().in_flight();
    if (!what.empty()) {
      ++waits;
      context.run_one_for(std::chrono::milliseconds(1));
    } else if (context.poll() == 0) {  // events before the check
      return true;
    }
  }
  ADD_FAILURE() << "the kernel doesn't deliver: " << what;
  return false;
}

// Gives each of these loops a turn, `rounds` times: then a chain of that many posts from loop to loop has ended. For a
// task on one of them.
inline Task<void> give_turns(std::vector<Executor> loops, int rounds = 20) {
  auto turn = []() -> Task<void> { co_await asio::post(use_task); };
  for (int round = 0; round < rounds; ++round) {
    for (const auto& loop : loops) {
      auto one = turn();
      co_await run_on(loop, std::move(one));
    }
  }
}

}  // namespace corral::async
