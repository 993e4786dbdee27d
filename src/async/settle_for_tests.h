// Tests that move the clock by hand must know when nothing is left to happen without it. A pause on the loop proves
// nothing: on a busy machine a thread or the kernel may only be late. These functions wait until no work is left.
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

// Waits until `pool` has done all jobs that it was given before. `pool` has one thread, which does them in order, and
// isn't finished.
inline void finish_jobs(ThreadPool& pool) {
  const auto reached = std::make_shared<std::promise<void>>();
  pool.post([reached] { reached->set_value(); });
  reached->get_future().wait();
}

// Runs the loop until it has nothing to do and the pools have no job. Ends early when `done` says so: it is asked
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

// Runs the loop until nothing can happen any more without time passing: it has nothing to do, and no socket of this
// process will change by itself. False: it didn't come to that.
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
    } else if (context.poll() == 0) {  // what came before the look
      return true;
    }
  }
  ADD_FAILURE() << "the kernel doesn't deliver: " << what;
  return false;
}

// Gives each of these loops a turn, `rounds` times: then a chain of so many posts from loop to loop has run to its end.
// For a task on one of them.
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
