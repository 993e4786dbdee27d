#include "engine/threads/chores.h"

#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace corral::engine {
namespace {

TEST(ChoreThread, DoesThemInTheirOrderOnAnotherThread) {
  std::promise<void> done;
  std::vector<int> order;
  std::thread::id thread;
  ChoreThread chores;
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(chores.run([&order, &thread, i] {
      order.push_back(i);
      thread = std::this_thread::get_id();
    }));
  EXPECT_TRUE(chores.run([&done] { done.set_value(); }));
  done.get_future().get();
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2));
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(ChoreThread, WhatOneThrowsConcernsNobodyElse) {
  std::promise<void> done;
  ChoreThread chores;
  EXPECT_TRUE(chores.run([] { throw std::runtime_error("a disk"); }));
  EXPECT_TRUE(chores.run([] { throw 1; }));
  EXPECT_TRUE(chores.run([&done] { done.set_value(); }));
  done.get_future().get();
}

TEST(ChoreThread, TheEndWaitsForTheOneThatRunsAndDropsTheOthers) {
  std::promise<void> begun, go_on;
  bool finished = false, other = false;
  {
    ChoreThread chores;
    EXPECT_TRUE(chores.run([&] {
      begun.set_value();
      go_on.get_future().wait();
      finished = true;
    }));
    EXPECT_TRUE(chores.run([&] { other = true; }));
    begun.get_future().wait();
    chores.close();
    EXPECT_FALSE(chores.run([] {}));
    go_on.set_value();
  }
  EXPECT_TRUE(finished);
  EXPECT_FALSE(other);
}

// Each may hold a gigabyte, and a disk may hang.
TEST(ChoreThread, TooManyAreRefused) {
  std::promise<void> begun, go_on;
  ChoreThread chores;
  EXPECT_TRUE(chores.run([&] {
    begun.set_value();
    go_on.get_future().wait();
  }));
  begun.get_future().wait();
  for (std::size_t i = 0; i < ChoreThread::kMostWaiting; ++i) EXPECT_TRUE(chores.run([] {}));
  EXPECT_FALSE(chores.run([] {}));
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
