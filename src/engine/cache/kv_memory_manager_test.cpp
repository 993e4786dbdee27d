#include "engine/cache/kv_memory_manager.h"

#include <gtest/gtest.h>

#include "engine/worker/test_parts.h"

namespace corral::engine {
namespace {

using test::ManualExecutor;
using test::MemoryMaker;

class KvMemoryManagerTest : public ::testing::Test {
 protected:
  void start(WorkerOptions options = {.max_cells = 1000, .threads = {4, 6}}, bool explains = false) {
    KvMemoryManager::Parts parts{.memory = *(*maker_)({}),
                                 .make = [maker = maker_](KvShape shape) { return (*maker)(shape); },
                                 .growth =
                                     [this](const KvMemory& memory, std::uint32_t needed) {
                                       ++growths_asked_;
                                       return room_ ? std::max(memory.n_ctx(), needed) : memory.n_ctx();
                                     },
                                 .wake = [this] { ++woken_; },
                                 .clock = [this] { return now_; }};
    if (explains) {
      parts.explain = [](const Error& error, KvShape) { return Error(error.code, error.message + ", by 5 bytes"); };
      parts.executor = executor_;
    }
    kv_.emplace(std::move(parts), options, sequences_);
    maker_->asked.clear();
  }

  MonoTime now_{};
  const std::shared_ptr<MemoryMaker> maker_ = std::make_shared<MemoryMaker>();
  const std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>();
  bool room_ = true;
  int growths_asked_ = 0, woken_ = 0;
  const SessionTable sessions_;
  Sequences sequences_{sessions_, nullptr, 50};
  std::optional<KvMemoryManager> kv_;
};

using Ensured = KvMemoryManager::Ensured;

TEST_F(KvMemoryManagerTest, MakesItWhenItIsNeeded) {
  start();
  EXPECT_EQ(kv_->ensure(), Ensured::there);
  kv_->drop({.streams = 4});
  EXPECT_FALSE(kv_->there());
  EXPECT_FALSE(sequences_.cells().common()) << "the sequences know that there is none";
  EXPECT_EQ(kv_->ensure(), Ensured::made);
  EXPECT_EQ(kv_->shape(), KvShape{.streams = 4});
  EXPECT_EQ(maker_->asked.size(), 1u);
}

TEST_F(KvMemoryManagerTest, WherePartsCannotBeHadItIsAPoolAndTheyAreNotTriedAgain) {
  start();
  maker_->parts = false;
  kv_->drop({.streams = 4});
  EXPECT_EQ(kv_->ensure(), Ensured::made);
  EXPECT_TRUE(kv_->shape().unified());
  EXPECT_FALSE(kv_->may_split());
  kv_->downsize();
  EXPECT_TRUE(kv_->may_split()) << "there may be memory now";
}

TEST_F(KvMemoryManagerTest, WhatItHasGrownToIsGivenUpWhereItCannotBeHadAnyMore) {
  start();
  kv_->drop({.cells = 400});
  ASSERT_EQ(kv_->ensure(), Ensured::made);
  EXPECT_EQ(kv_->cells(), 400u);
  maker_->largest = 100;
  kv_->drop({.cells = 400});
  EXPECT_EQ(kv_->ensure(), Ensured::made);
  EXPECT_EQ(kv_->cells(), 100u);
}

TEST_F(KvMemoryManagerTest, ThreadsAreThoseOfTheNextMemoryToo) {
  start();
  kv_->set_threads({2, 3});
  kv_->drop({});
  ASSERT_TRUE(kv_->ensure());
  EXPECT_EQ(dynamic_cast<test::CountingMemory&>(**kv_).threads, (SetThreads{2, 3}));
}

TEST_F(KvMemoryManagerTest, ARefusalIsToldAtOnceWhereNobodyExplains) {
  start();
  maker_->any = false;
  kv_->drop({.streams = 4, .cells = 400});
  const auto ensured = kv_->ensure();
  ASSERT_FALSE(ensured);
  EXPECT_EQ(ensured.error().code, errc::out_of_memory);
  EXPECT_EQ(maker_->asked.size(), 3u) << "in parts, in a pool, and as it was at first";
}

TEST_F(KvMemoryManagerTest, ARefusalIsExplainedAside) {
  start({}, true);
  maker_->any = false;
  kv_->drop({});
  EXPECT_EQ(kv_->ensure(), Ensured::explaining);
  EXPECT_EQ(kv_->ensure(), Ensured::explaining);
  EXPECT_EQ(maker_->asked.size(), 1u) << "it isn't tried again meanwhile";
  EXPECT_FALSE(kv_->take_refusal());
  EXPECT_EQ(kv_->explained_until(), now_ + WorkerOptions{}.max_cause_wait);
  executor_->work();
  EXPECT_EQ(woken_, 1);
  const auto error = kv_->take_refusal();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "too little, by 5 bytes");
  EXPECT_FALSE(kv_->take_refusal()) << "once";
  EXPECT_FALSE(kv_->explained_until());
}

TEST_F(KvMemoryManagerTest, AnExplanationThatTakesTooLongIsNotWaitedFor) {
  start({}, true);
  maker_->any = false;
  kv_->drop({});
  ASSERT_EQ(kv_->ensure(), Ensured::explaining);
  now_ += WorkerOptions{}.max_cause_wait;
  const auto error = kv_->take_refusal();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "too little");
  executor_->work();  // too late, and no harm
}

TEST_F(KvMemoryManagerTest, AChoreThatIsNotTakenExplainsNothing) {
  start({}, true);
  executor_->takes = false;
  maker_->any = false;
  kv_->drop({});
  EXPECT_FALSE(kv_->ensure());
}

TEST_F(KvMemoryManagerTest, WhereThereIsNoRoomToGrowItIsNotAskedAgainForAWhile) {
  start();
  room_ = false;
  EXPECT_FALSE(kv_->growth(200));
  EXPECT_FALSE(kv_->growth(300));
  EXPECT_EQ(growths_asked_, 1) << "so much less for more";
  EXPECT_FALSE(kv_->growth(150));
  EXPECT_EQ(growths_asked_, 2);
  now_ += Millis{1'000};
  room_ = true;
  EXPECT_EQ(kv_->growth(300), 300u);
}

TEST_F(KvMemoryManagerTest, WhatCouldNotBeMadeIsNotTriedAgainForALongerWhile) {
  start();
  ASSERT_EQ(kv_->growth(300), 300u);
  kv_->growth_failed(300);
  EXPECT_FALSE(kv_->growth(300));
  now_ += Millis{2'000};
  EXPECT_FALSE(kv_->growth(300));
  EXPECT_EQ(kv_->growth(200), 200u) << "less may be had";
  now_ += Millis{8'000};
  EXPECT_EQ(kv_->growth(300), 300u);
}

TEST_F(KvMemoryManagerTest, OnlyAPoolGrows) {
  start();
  kv_->drop({.streams = 4});
  ASSERT_TRUE(kv_->ensure());
  EXPECT_FALSE(kv_->growth(300));
  start({.max_cells = 0});
  EXPECT_FALSE(kv_->grows());
  EXPECT_FALSE(kv_->growth(300));
}

TEST_F(KvMemoryManagerTest, StartsOverWithTheFirstOne) {
  start();
  kv_->drop({.streams = 0, .cells = 400});
  ASSERT_TRUE(kv_->ensure());
  kv_->start_over();
  EXPECT_FALSE(kv_->there());
  EXPECT_EQ(kv_->shape(), KvShape{});
  EXPECT_EQ(kv_->cells(), 100u);
}

}  // namespace
}  // namespace corral::engine
