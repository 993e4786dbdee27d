#include "engine_server/preparation/preparation.h"

#include <latch>

#include <gmock/gmock.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "engine/values/errors.h"

namespace corral::engine_server {
namespace {

using ::testing::ElementsAre;

// Work that waits until it is let go.
struct Gate {
  std::atomic<bool> entered = false;
  std::latch open{1};
  void pass() {
    entered = true;
    open.wait();
  }
};

class PreparationTest : public ::testing::Test {
 protected:
  void make(PreparationLimits limits) { preparation.emplace(quick, limits); }

  template <typename Work>
  async::Task<void> note(Lane lane, std::uint64_t bytes, Work work, std::string client = {}) {
    Preparation::Cause cause{std::move(client), bytes};
    auto result = co_await preparation->run(lane, std::move(cause), std::move(work));
    results.push_back(result ? *result : -1);
    if (!result) errors.push_back(result.error());
  }
  // Lets what is ready on the loop run until `done`.
  template <typename Done>
  void run_until(Done done) {
    async::run_blocking(loop, wait(std::move(done)));
  }
  template <typename Done>
  async::Task<void> wait(Done done) {
    while (!done()) co_await async::asio::post(loop.executor(), async::use_task);
  }

  async::Loop loop;
  async::ThreadPool quick{1};
  std::optional<Preparation> preparation;
  std::vector<int> results;
  std::vector<Error> errors;
};

auto answer(int value) {
  return [value](const CancelToken&) -> Result<int> { return value; };
}

auto behind(Gate& gate, int value) {
  return [&gate, value](const CancelToken&) -> Result<int> {
    gate.pass();
    return value;
  };
}

// A small request beside a large one that takes its time.
TEST_F(PreparationTest, QuickOnesDontWaitForHeavyOnes) {
  make({.heavy_threads = 1});
  Gate gate;
  async::TaskGroup tasks(loop.executor());
  tasks.spawn("heavy", note(Lane::heavy, 1 << 20, behind(gate, 1)));
  run_until([&] { return gate.entered.load(); });
  tasks.spawn("quick", note(Lane::quick, 100, answer(2)));
  run_until([&] { return results.size() == 1; });
  EXPECT_THAT(results, ElementsAre(2));
  gate.open.count_down();
  run_until([&] { return results.size() == 2; });
  EXPECT_THAT(results, ElementsAre(2, 1));
}

TEST_F(PreparationTest, OfHeavyOnesSmallerAndOlderComeFirst) {
  make({.heavy_threads = 1});
  Gate gate;
  async::TaskGroup tasks(loop.executor());
  tasks.spawn("first", note(Lane::heavy, 1, behind(gate, 0)));
  run_until([&] { return gate.entered.load(); });
  tasks.spawn("large", note(Lane::heavy, 8 << 20, answer(3)));
  tasks.spawn("small", note(Lane::heavy, 1000, answer(1)));
  tasks.spawn("later", note(Lane::heavy, 1000, answer(2)));
  run_until([&] { return preparation->numbers().jobs == 4; });
  gate.open.count_down();
  run_until([&] { return results.size() == 4; });
  EXPECT_THAT(results, ElementsAre(0, 1, 2, 3));
}

TEST_F(PreparationTest, ClientsTakeTurnsInBothLanes) {
  make({.heavy_threads = 1});
  for (const auto lane : {Lane::quick, Lane::heavy}) {
    results.clear();
    Gate gate;
    async::TaskGroup tasks(loop.executor());
    tasks.spawn("first", note(lane, 1, behind(gate, 0), "many"));
    run_until([&] { return gate.entered.load(); });
    for (const int i : {1, 2, 3, 4}) tasks.spawn("more", note(lane, 1, answer(i), "many"));
    run_until([&] { return preparation->numbers().jobs == 5; });
    tasks.spawn("one", note(lane, 1, answer(100), "one"));
    run_until([&] { return preparation->numbers().jobs == 6; });
    gate.open.count_down();
    run_until([&] { return results.size() == 6 && preparation->numbers().jobs == 0; });
    EXPECT_THAT(results, ElementsAre(0, 1, 100, 2, 3, 4));
  }
}

// It used to be made ready in full for nobody.
TEST_F(PreparationTest, WhoLeavesIsDroppedAndTellsWorkToStop) {
  make({.heavy_threads = 1});
  Gate gate;
  std::atomic<bool> stopped = false, ran = false;
  async::TaskGroup running(loop.executor());
  running.spawn("runs", note(Lane::heavy, 5, [&](const CancelToken& stop) -> Result<int> {
                  gate.pass();
                  stopped = stop.wanted();
                  return 0;
                }));
  run_until([&] { return gate.entered.load(); });
  const auto held = std::make_shared<int>();
  async::TaskGroup waiting(loop.executor());
  waiting.spawn("waits", note(Lane::heavy, 7, [&ran, held](const CancelToken&) -> Result<int> {
                  ran = true;
                  return 0;
                }));
  run_until([&] { return preparation->numbers().jobs == 2; });
  EXPECT_EQ(preparation->numbers().bytes, 12u);
  waiting.cancel();
  async::run_blocking(loop, waiting.join());
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(preparation->numbers().bytes, 5u);
  running.cancel();
  async::run_blocking(loop, running.join());
  gate.open.count_down();
  run_until([&] { return preparation->numbers().jobs == 0; });
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(ran);
  EXPECT_TRUE(results.empty());
}

TEST_F(PreparationTest, WhatWaitsIsBounded) {
  make({.waiting = {.jobs = 6, .bytes = 200}, .heavy_threads = 1});
  Gate gate;
  async::TaskGroup tasks(loop.executor());
  tasks.spawn("first", note(Lane::heavy, 500, behind(gate, 1)));  // one is taken however large
  run_until([&] { return gate.entered.load(); });
  tasks.spawn("second", note(Lane::quick, 1, answer(2)));
  run_until([&] { return errors.size() == 1; });
  EXPECT_EQ(errors[0].code, engine::errc::queue_full);
  EXPECT_EQ(errors[0].retry_after, std::chrono::seconds(1));
  gate.open.count_down();
  run_until([&] { return results.size() == 2 && preparation->numbers().jobs == 0; });

  Gate again;
  tasks.spawn("a", note(Lane::heavy, 1, behind(again, 1)));
  run_until([&] { return again.entered.load(); });
  tasks.spawn("b", note(Lane::heavy, 1, answer(2)));
  tasks.spawn("c", note(Lane::heavy, 1, answer(3)));
  tasks.spawn("d", note(Lane::heavy, 1, answer(4)));
  run_until([&] { return errors.size() == 2; });
  again.open.count_down();
  run_until([&] { return results.size() == 6; });
}

TEST_F(PreparationTest, ExceptionsAndErrorsComeBack) {
  make({});
  EXPECT_THROW(async::run_blocking(
                   loop, preparation->run(Lane::quick, {.client = {}, .bytes = 1},
                                          [](const CancelToken&) -> Result<int> { throw std::runtime_error("no"); })),
               std::runtime_error);
  const auto failed = async::run_blocking(
      loop, preparation->run(Lane::quick, {.client = {}, .bytes = 1}, [](const CancelToken&) -> Result<int> {
        return fail(engine::errc::invalid_argument, "wrong");
      }));
  EXPECT_FALSE(failed);
}

}  // namespace
}  // namespace corral::engine_server
