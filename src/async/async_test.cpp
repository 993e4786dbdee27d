#include <atomic>
#include <future>

#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include "async/cancel_source.h"
#include "async/event.h"
#include "async/loop.h"
#include "async/offload.h"
#include "async/on_loop.h"
#include "async/task_group.h"
#include "async/timer.h"

namespace corral::async {
namespace {

using std::chrono::seconds;

TEST(Loop, StopBeforeRunIsNotLost) {
  Loop loop;
  loop.stop();
  loop.run();  // returns
  auto again = []() -> Task<int> { co_return 3; };
  EXPECT_EQ(run_blocking(loop, again()), 3);
}

TEST(Channel, DeliversInOrderAndEndsWhenClosed) {
  Loop loop;
  Channel<int> channel(loop.executor());
  std::vector<int> got;
  auto consume = [&]() -> Task<void> {
    while (auto value = co_await channel.receive()) got.push_back(*value);
  };
  channel.send(1);
  channel.send(2);
  channel.close();
  run_blocking(loop, consume());
  EXPECT_EQ(got, (std::vector{1, 2}));
}

TEST(TaskGroup, CancelUnwindsWaitingTasksAndJoinReturns) {
  Loop loop;
  TaskGroup group(loop.executor());
  Event never(loop.executor());
  bool unwound = false;
  struct Mark {
    bool& flag;
    ~Mark() { flag = true; }
  };
  auto wait = [&]() -> Task<void> {
    const Mark mark{unwound};
    co_await never.wait();
  };
  auto driver = [&]() -> Task<void> {
    group.spawn("wait", wait());
    EXPECT_EQ(group.running(), 1u);
    group.cancel();
    co_await group.join();
  };
  run_blocking(loop, driver());
  EXPECT_TRUE(unwound);
}

TEST(TaskGroup, CancelBetweenTheTurnsOfTheLoopSparesTasksThatEndOrStartMeanwhile) {
  Loop loop;
  TaskGroup group(loop.executor());
  Event ends(loop.executor()), goes_on(loop.executor());
  auto wait = [](Event& event, bool& ended) -> Task<void> {
    co_await event.wait();
    ended = true;
  };
  bool first = false, second = false;
  group.spawn("first", wait(ends, first));
  loop.context().poll();
  ends.set();
  group.cancel();
  group.spawn("second", wait(goes_on, second));
  loop.context().poll();
  EXPECT_EQ(group.running(), 1u);
  goes_on.set();
  loop.context().poll();
  EXPECT_TRUE(second);
  EXPECT_EQ(group.running(), 0u);
}

TEST(Timers, TimeoutCancelsTheTaskAndReturnsNothing) {
  Loop loop;
  ManualTimers timers(loop.executor());
  Event never(loop.executor());
  TaskGroup group(loop.executor());
  std::optional<int> result = 7;
  auto slow = [&]() -> Task<int> {
    co_await never.wait();
    co_return 1;
  };
  auto limited = [&]() -> Task<void> { result = co_await with_timeout(timers, seconds(5), slow()); };
  auto driver = [&]() -> Task<void> {
    group.spawn("limited", limited());
    while (timers.sleepers() == 0) co_await asio::post(use_task);
    timers.advance(seconds(4));
    timers.advance(seconds(2));
    co_await group.join();
  };
  run_blocking(loop, driver());
  EXPECT_EQ(result, std::nullopt);
}

TEST(Timers, ResultInTimePassesThrough) {
  Loop loop;
  SystemTimers timers;
  auto quick = []() -> Task<int> { co_return 42; };
  auto driver = [&]() -> Task<std::optional<int>> { co_return co_await with_timeout(timers, seconds(60), quick()); };
  EXPECT_EQ(run_blocking(loop, driver()), 42);
}

TEST(Race, TheOneThatEndsFirstEndsTheOther) {
  Loop loop;
  Event task_ends(loop.executor()), other_ends(loop.executor());
  auto task = [&]() -> Task<int> {
    co_await task_ends.wait();
    co_return 3;
  };
  auto other = [&]() -> Task<void> { co_await other_ends.wait(); };
  std::optional<std::optional<int>> result;
  TaskGroup group(loop.executor());
  auto driver = [&]() -> Task<void> { result = co_await race(task(), other()); };
  const auto turn = [&] {
    loop.context().restart();
    loop.context().poll();
  };
  group.spawn("first", driver());
  turn();
  EXPECT_FALSE(result);
  other_ends.set();
  turn();
  ASSERT_TRUE(result);
  EXPECT_FALSE(*result);
  other_ends.reset();
  group.spawn("second", driver());
  turn();
  task_ends.set();
  turn();
  ASSERT_TRUE(*result);
  EXPECT_EQ(**result, 3);
  EXPECT_EQ(group.running(), 0u);
}

// The task takes longer to unwind than the other side.
TEST(Race, ACancelledCallerGetsTheCancellation) {
  Loop loop;
  Event never(loop.executor()), let_go(loop.executor());
  auto task = [&]() -> Task<int> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await let_go.wait();
    throw boost::system::system_error(asio::error::operation_aborted);
  };
  auto other = [&]() -> Task<void> { co_await never.wait(); };
  bool returned = false;
  auto driver = [&]() -> Task<void> {
    co_await race(task(), other());
    returned = true;
  };
  TaskGroup group(loop.executor());
  const auto turn = [&] {
    loop.context().restart();
    loop.context().poll();
  };
  group.spawn("race", driver());
  turn();
  group.cancel();
  turn();
  EXPECT_EQ(group.running(), 1u);
  let_go.set();
  turn();
  EXPECT_EQ(group.running(), 0u);
  EXPECT_FALSE(returned);
}

TEST(CancelSource, PassesResultsAndExceptionsThrough) {
  Loop loop;
  const CancelSource stopper;
  auto seven = []() -> Task<int> { co_return 7; };
  auto fails = []() -> Task<int> { throw std::runtime_error("no"); };
  EXPECT_EQ(run_blocking(loop, stopper.run(seven())), 7);
  EXPECT_THROW(run_blocking(loop, stopper.run(fails())), std::runtime_error);
  EXPECT_EQ(run_blocking(loop, stopper.run(seven())), 7);
  EXPECT_FALSE(stopper.stopped());
}

TEST(CancelSource, EndsTheTaskThatRunsAndLetsNoneBegin) {
  Loop loop;
  const CancelSource stopper;
  Event never(loop.executor());
  bool began = false;
  auto wait = [&]() -> Task<int> {
    began = true;
    co_await never.wait();
    co_return 1;
  };
  auto driver = [&]() -> Task<void> {
    asio::post(loop.executor(), [&] { stopper.stop(); });
    auto waiting = wait();
    const auto ended = co_await stopper.run(std::move(waiting));
    EXPECT_FALSE(ended);
    EXPECT_TRUE(std::exchange(began, false));
    auto late = wait();
    const auto refused = co_await stopper.run(std::move(late));
    EXPECT_FALSE(refused);
  };
  run_blocking(loop, driver());
  EXPECT_FALSE(began);
  EXPECT_TRUE(stopper.stopped());
}

// The order may come from within the task, and end whoever owns the stopper.
TEST(CancelSource, OutlivesItsOwner) {
  Loop loop;
  auto stopper = std::make_unique<CancelSource>();
  Event never(loop.executor());
  auto wait = [&]() -> Task<int> {
    co_await never.wait();
    co_return 1;
  };
  auto waiting = wait();
  auto run = stopper->run(std::move(waiting));
  asio::post(loop.executor(), [&] {
    const CancelSource copy = *stopper;
    stopper.reset();
    copy.stop();
  });
  EXPECT_FALSE(run_blocking(loop, std::move(run)));
}

TEST(CancelSource, CancellingTheCallerCancelsTheTask) {
  Loop loop;
  const CancelSource stopper;
  TaskGroup group(loop.executor());
  Event never(loop.executor());
  bool unwound = false;
  struct Mark {
    bool& flag;
    ~Mark() { flag = true; }
  };
  auto wait = [&]() -> Task<int> {
    const Mark mark{unwound};
    co_await never.wait();
    co_return 1;
  };
  auto caller = [&]() -> Task<void> {
    auto waiting = wait();
    co_await stopper.run(std::move(waiting));
    ADD_FAILURE() << "went on";
  };
  auto driver = [&]() -> Task<void> {
    group.spawn("caller", caller());
    group.cancel();
    co_await group.join();
  };
  run_blocking(loop, driver());
  EXPECT_TRUE(unwound);
  EXPECT_FALSE(stopper.stopped());
}

TEST(Timers, ExceptionOfTheTaskPassesThroughAtOnce) {
  Loop loop;
  SystemTimers timers;
  auto broken = []() -> Task<int> {
    throw std::runtime_error("broken");
    co_return 0;
  };
  auto driver = [&]() -> Task<std::optional<int>> { co_return co_await with_timeout(timers, seconds(60), broken()); };
  EXPECT_THROW(run_blocking(loop, driver()), std::runtime_error);
}

TEST(ThreadPool, RunsElsewhereAndReturnsHere) {
  Loop loop;
  ThreadPool pool(1);
  const auto here = std::this_thread::get_id();
  auto driver = [&]() -> Task<bool> {
    auto work = [] { return std::this_thread::get_id(); };
    const auto there = co_await pool.run(work);
    co_return there != here&& std::this_thread::get_id() == here;
  };
  EXPECT_TRUE(run_blocking(loop, driver()));
}

TEST(ThreadPool, SkipsWhatNobodyWantsAnyMoreWhenItsTurnComes) {
  Loop loop;
  ThreadPool pool(1);
  std::promise<void> begun, go_on;
  std::atomic<int> ran = 0;
  auto first = [&]() -> Task<void> {
    auto work = [&] {
      begun.set_value();
      go_on.get_future().wait();
      return ++ran;
    };
    co_await pool.run(work);
  };
  auto second = [&]() -> Task<void> {
    auto work = [&] { return ++ran; };
    co_await pool.run(work);
  };
  auto driver = [&]() -> Task<void> {
    TaskGroup busy(loop.executor()), waiting(loop.executor());
    busy.spawn("first", first());
    begun.get_future().wait();
    waiting.spawn("second", second());
    waiting.cancel();
    EXPECT_EQ(waiting.running(), 1u) << "it holds what its work holds until that is dropped";
    go_on.set_value();
    co_await waiting.join();
    co_await busy.join();
  };
  run_blocking(loop, driver());
  EXPECT_EQ(ran, 1);
}

TEST(RunOn, MovesToAnotherLoopAndBack) {
  LoopPool pool(2);
  std::thread::id inside, after, before;
  auto there = [&]() -> Task<int> {
    inside = std::this_thread::get_id();
    co_return 5;
  };
  auto driver = [&]() -> Task<void> {
    before = std::this_thread::get_id();
    EXPECT_EQ(co_await run_on(pool.at(1).executor(), there()), 5);
    after = std::this_thread::get_id();
    pool.stop();
  };
  asio::co_spawn(pool.home().executor(), driver(), [](const std::exception_ptr&) {});
  pool.run();
  EXPECT_EQ(before, after);
  EXPECT_NE(before, inside);
}

TEST(OnLoopTest, CallsAMethodWhereItsObjectLives) {
  struct Counter {
    Task<std::thread::id> add(int number) {
      sum += number;
      co_return std::this_thread::get_id();
    }
    int sum = 0;
    std::thread::id changed_on = {};
  };
  LoopPool pool(2);
  Counter counter;
  const OnLoop there(counter, pool.at(1).executor());
  std::thread::id inside, outside;
  auto driver = [&]() -> Task<void> {
    outside = std::this_thread::get_id();
    auto adding = there.call(&Counter::add, 5);
    inside = co_await std::move(adding);
    EXPECT_EQ(std::this_thread::get_id(), outside);
    auto doubling = there.run([](Counter& it) {
      it.sum *= 2;
      it.changed_on = std::this_thread::get_id();
    });
    co_await std::move(doubling);
    auto reading = there.run([](const Counter& it) { return it.sum; });
    EXPECT_EQ(co_await std::move(reading), 10);
    EXPECT_EQ(std::this_thread::get_id(), outside);
    pool.stop();
  };
  asio::co_spawn(pool.home().executor(), driver(), [](const std::exception_ptr&) {});
  pool.run();
  EXPECT_NE(inside, outside);
  EXPECT_EQ(counter.changed_on, inside);
}

// Cancelling a task on another loop in the very moment in which it ends.
TEST(RunOn, CancelThatMeetsTheEndOfTheTask) {
  LoopPool pool(2);
  TaskGroup group(pool.home().executor());
  Event done(pool.home().executor());
  std::atomic<int> ended = 0;
  auto there = [&]() -> Task<int> {
    co_await asio::post(use_task);
    ++ended;
    co_return 1;
  };
  auto call = [&]() -> Task<void> {
    auto task = there();
    co_await run_on(pool.at(1).executor(), std::move(task));
  };
  auto driver = [&]() -> Task<void> {
    for (int i = 0; i < 2000; ++i) {
      group.spawn("call", call());
      for (int turn = 0; turn < i % 7; ++turn) co_await asio::post(use_task);
      group.cancel();
      co_await group.join();
    }
    pool.stop();
  };
  asio::co_spawn(pool.home().executor(), driver(), [](const std::exception_ptr&) {});
  pool.run();
  EXPECT_GT(ended, 0);
}

}  // namespace
}  // namespace corral::async
