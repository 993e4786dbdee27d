#include "engine/threads/background_executor.h"

#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace corral::engine {
namespace {

TEST(BackgroundThread, DoesThemInTheirOrderOnAnotherThread) {
  std::promise<void> done;
  std::vector<int> order;
  std::thread::id thread;
  BackgroundThread executor;
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(executor.run([&order, &thread, i] {
      order.push_back(i);
      thread = std::this_thread::get_id();
    }));
  EXPECT_TRUE(executor.run([&done] { done.set_value(); }));
  done.get_future().get();
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2));
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(BackgroundThread, WhatOneThrowsConcernsNobodyElse) {
  std::promise<void> done;
  BackgroundThread executor;
  EXPECT_TRUE(executor.run([] { throw std::runtime_error("a disk"); }));
  EXPECT_TRUE(executor.run([] { throw 1; }));
  EXPECT_TRUE(executor.run([&done] { done.set_value(); }));
  done.get_future().get();
}

TEST(BackgroundThread, TheEndWaitsForTheOneThatRunsAndDropsTheOthers) {
  std::promise<void> begun, go_on;
  bool finished = false, other = false;
  {
    BackgroundThread executor;
    EXPECT_TRUE(executor.run([&] {
      begun.set_value();
      go_on.get_future().wait();
      finished = true;
    }));
    EXPECT_TRUE(executor.run([&] { other = true; }));
    begun.get_future().wait();
    executor.close();
    EXPECT_FALSE(executor.run([] {}));
    go_on.set_value();
  }
  EXPECT_TRUE(finished);
  EXPECT_FALSE(other);
}

// Each may hold a gigabyte, and a disk may hang.
TEST(BackgroundThread, TooManyAreRefused) {
  std::promise<void> begun, go_on;
  BackgroundThread executor;
  EXPECT_TRUE(executor.run([&] {
    begun.set_value();
    go_on.get_future().wait();
  }));
  begun.get_future().wait();
  for (std::size_t i = 0; i < BackgroundThread::kMaxWaiting; ++i) EXPECT_TRUE(executor.run([] {}));
  EXPECT_FALSE(executor.run([] {}));
  go_on.set_value();
}

TEST(GiveBack, WithoutChoresItGoesAtOnce) {
  auto large = std::make_shared<int>();
  const std::weak_ptr<int> left = large;
  give_back(nullptr, std::move(large));
  EXPECT_TRUE(left.expired());
}

}  // namespace
}  // namespace corral::engine
