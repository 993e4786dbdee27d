// Dynamic memory management by idleness: downsizing, eviction, what interrupts them; simulated passes.
#include "residency/core_harness_for_tests.h"
#include "residency/errors.h"

namespace corral::residency {
namespace {

constexpr EvictionSettings kOn{.auto_evict = true};
constexpr Millis kMinute{60'000};

// One idle model "a" that opted in.
struct Idle : testing::Test {
  CoreHarness house{CoreHarness::slots(3)};
  void SetUp() override {
    house.needs("a", 10, 4).eviction = kOn;
    house.acquire("a");
    house.free(100);
    house.succeed("a");
    house.finish(1);
  }
};

TEST_F(Idle, AModelIsDownsizedAndThenEvicted) {
  EXPECT_EQ(house.wake_in(), kMinute);
  EXPECT_THAT(house.pass(kMinute), ElementsAre("downsize a"));
  EXPECT_EQ(house.state("a"), InstanceState::downsizing);
  EXPECT_THAT(house.downsized("a"), IsEmpty());
  EXPECT_EQ(house.state("a"), InstanceState::downsized);
  EXPECT_EQ(house.wake_in(), kMinute * 4);
  EXPECT_THAT(house.pass(kMinute * 4), ElementsAre("stop a: idle", "watch no more"));
}

TEST_F(Idle, CountsFromTheEndOfTheLastRequest) {
  house.acquire("a");
  EXPECT_THAT(house.pass(kMinute * 10), IsEmpty());
  house.finish(2);
  EXPECT_THAT(house.pass(kMinute - Millis{1}), IsEmpty());
  EXPECT_THAT(house.pass(Millis{1}), ElementsAre("downsize a"));
}

TEST_F(Idle, ARequestToADownsizedModelRunsAtOnceAndItIsWholeAgain) {
  house.pass(kMinute);
  house.downsized("a");
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 2 on a"));
  EXPECT_EQ(house.state("a"), InstanceState::in_use);
  house.finish(2);
  EXPECT_EQ(house.state("a"), InstanceState::ready);
  EXPECT_THAT(house.pass(kMinute), ElementsAre("downsize a"));
}

TEST_F(Idle, ARequestMidDownsizeIsServedAndTheAnswerThatCrossesChangesNothing) {
  house.pass(kMinute);
  ASSERT_TRUE(house.core().try_acquire(ModelName("a"), house.now()));
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 2 on a"));
  EXPECT_THAT(house.downsized("a"), IsEmpty());
  EXPECT_EQ(house.state("a"), InstanceState::in_use);
}

TEST_F(Idle, AInstanceHasOneDownsizeAtATime) {
  house.pass(kMinute);
  house.acquire("a");
  house.finish(2);
  EXPECT_THAT(house.pass(kMinute), IsEmpty());
  EXPECT_THAT(house.not_downsized("a"), ElementsAre("downsize a"));
}

TEST_F(Idle, AInstanceThatCantBeDownsizedIsAskedAgainAfterItsNextUse) {
  house.pass(kMinute);
  EXPECT_THAT(house.not_downsized("a"), IsEmpty());
  EXPECT_EQ(house.state("a"), InstanceState::ready);
  EXPECT_THAT(house.pass(kMinute), IsEmpty());
  house.acquire("a");
  house.finish(2);
  EXPECT_THAT(house.pass(kMinute), ElementsAre("downsize a"));
}

TEST_F(Idle, APinnedModelIsNeitherDownsizedNorEvicted) {
  house.pin("a");
  EXPECT_EQ(house.wake_in(), std::nullopt);
  EXPECT_THAT(house.pass(kMinute * 10), IsEmpty());
  EXPECT_THAT(house.simulate(-1), ElementsAre("relieved 3: downsized  evicted "));
  EXPECT_THAT(house.simulate(0.99), ElementsAre("relieved 4: downsized  evicted "));
  EXPECT_THAT(house.pin("a", false), ElementsAre("unpin a", "stop a: idle", "watch no more"));
}

TEST_F(Idle, UnpinnedItIsDownsizedWhenItsTimeIsOver) {
  house.pin("a");
  house.pass(kMinute);
  EXPECT_THAT(house.pin("a", false), ElementsAre("unpin a", "downsize a"));
}

TEST_F(Idle, APinLeavesADownsizedModelAsItIs) {
  house.pass(kMinute);
  house.downsized("a");
  house.pin("a");
  EXPECT_EQ(house.state("a"), InstanceState::downsized);
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 3 on a"));
  house.finish(3);
  EXPECT_THAT(house.pass(kMinute * 10), IsEmpty());
}

TEST_F(Idle, ARequestToAModelThatStopsWaitsForANewLoad) {
  house.pass(kMinute * 5);
  EXPECT_THAT(house.acquire("a"), ElementsAre("sample"));
  EXPECT_THAT(house.free(90), IsEmpty());
  EXPECT_THAT(house.stopped("a"), ElementsAre("sample"));
  EXPECT_THAT(house.free(100), ElementsAre("start a", "watch"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 2 on a"));
}

TEST_F(Idle, AModelThatStopsForAnotherGoesAlsoWhenItIsDownsized) {
  house.pass(kMinute);
  house.downsized("a");
  house.settings(CoreHarness::slots(1));
  EXPECT_THAT(house.acquire("b"), ElementsAre("stop a: room", "watch no more"));
}

TEST_F(Idle, SettingsMayChangeWhileTheModelIsLoaded) {
  EXPECT_THAT(house.evictable("a", {.auto_evict = false}), ElementsAre("watch no more"));
  EXPECT_THAT(house.pass(kMinute * 10), IsEmpty());
  house.needs("a", 10, 4).eviction = {.auto_evict = true, .evict_idle_timeout = kMinute * 20};
  EXPECT_THAT(house.load("a"), ElementsAre("resident 2 a", "watch"));
  EXPECT_THAT(house.pass(kMinute), ElementsAre("downsize a"));
}

TEST_F(Idle, ANegativeTimeoutIsNever) {
  house.evictable("a", {.auto_evict = true, .downsize_idle_timeout = Millis{-1}, .evict_idle_timeout = Millis{-1}});
  EXPECT_EQ(house.wake_in(), std::nullopt);
}

TEST_F(Idle, AnyModelIsLeftAloneForTheFloor) {
  house.evictable("a", {.auto_evict = true, .downsize_idle_timeout = Millis{0}});
  EXPECT_THAT(house.pass(Millis{999}), IsEmpty());
  EXPECT_THAT(house.pass(Millis{1}), ElementsAre("downsize a"));
}

TEST_F(Idle, WhatIsShownTellsIdlenessAndCounts) {
  house.pass(kMinute);
  house.downsized("a");
  const Snapshot snapshot = house.snapshot();
  ASSERT_THAT(snapshot.instances, SizeIs(1));
  EXPECT_EQ(snapshot.instances[0].idle, kMinute);
  EXPECT_GT(snapshot.instances[0].score, 0);
  EXPECT_EQ(snapshot.instances[0].spec->memory.at(0).total, 10U);
  EXPECT_EQ(snapshot.downsized[index_of(ModelType::llm)], 1U);
  EXPECT_EQ(snapshot.downsizes, 1U);
  house.pass(kMinute * 4);
  EXPECT_EQ(house.snapshot().stops[static_cast<std::size_t>(StopReason::idle)], 1U);
  EXPECT_EQ(house.snapshot().instances[0].leaving, StopReason::idle);
}

TEST(AutoEvictOff, NothingIsWatchedOrDone) {
  CoreHarness house(CoreHarness::slots(3));
  house.needs("a", 10, 4);
  house.acquire("a");
  EXPECT_THAT(house.free(100), ElementsAre("start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a"));
  house.finish(1);
  EXPECT_EQ(house.wake_in(), std::nullopt);
  EXPECT_THAT(house.pass(kMinute * 100), IsEmpty());
  EXPECT_THAT(house.free(1), IsEmpty());
  EXPECT_THAT(house.simulate(0.99), ElementsAre("relieved 2: downsized  evicted "));
}

TEST_F(Idle, AnIdleOnlyPassTakesTheTimeoutsLiterallyAndAnswersWhenItIsDone) {
  house.evictable("a", {.auto_evict = true, .downsize_idle_timeout = Millis{0}});
  EXPECT_THAT(house.simulate(-1), ElementsAre("downsize a"));
  EXPECT_THAT(house.downsized("a"), ElementsAre("relieved 2: downsized a evicted "));
  house.evictable("a", {.auto_evict = true, .evict_idle_timeout = Millis{0}});
  EXPECT_THAT(house.simulate(-1), ElementsAre("stop a: idle", "watch no more"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("relieved 3: downsized  evicted a"));
}

TEST_F(Idle, AnIdleOnlyPassLeavesModelsWhoseTimeoutsHaveNotPassed) {
  EXPECT_THAT(house.simulate(-1), ElementsAre("relieved 2: downsized  evicted "));
}

TEST_F(Idle, ASimulatedPressureEvictsTheMostDisposableEvenInItsFirstSeconds) {
  house.needs("b", 10).eviction = kOn;
  house.pass(Millis{300});
  house.acquire("b");
  house.free(90);
  house.succeed("b");
  house.finish(2);
  EXPECT_THAT(house.simulate(0.5), ElementsAre("relieved 3: downsized  evicted "));
  EXPECT_THAT(house.simulate(0.95), ElementsAre("stop a: pressure"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("relieved 4: downsized  evicted a"));
  EXPECT_EQ(house.state("b"), InstanceState::ready);
}

TEST_F(Idle, APassThatIsInterruptedByARequestIsAnsweredToo) {
  house.evictable("a", {.auto_evict = true, .downsize_idle_timeout = Millis{0}});
  house.simulate(-1);
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 3 on a"));
  EXPECT_THAT(house.not_downsized("a"), ElementsAre("relieved 2: downsized  evicted "));
  house.finish(3);
  house.simulate(-1);
  house.cancel(4);
  EXPECT_THAT(house.downsized("a"), IsEmpty());
}

// It was refused: others had taken what its own model had just given up.
TEST_F(Idle, ARequestThatComesMidEvictionIsServedThoughOthersTookTheMemory) {
  house.evictable("a", {.auto_evict = true, .evict_idle_timeout = Millis{0}});
  EXPECT_THAT(house.simulate(-1), ElementsAre("stop a: idle", "watch no more"));
  EXPECT_THAT(house.acquire("a"), ElementsAre("sample"));
  house.free(0);
  house.stopped("a");
  EXPECT_THAT(house.free(5), IsEmpty());
  CoreHarness::Lines lines;
  for (Millis waited{0}; waited < Millis{5000} && lines.empty(); waited += Millis{250}) {
    lines = house.pass(Millis{250});
    if (lines == CoreHarness::Lines{"sample"}) lines = house.free(5);
  }
  EXPECT_THAT(lines, ElementsAre("start a", "watch"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 3 on a"));
}

// One that comes later is told, as before.
TEST_F(Idle, ARequestThatComesWhenTheModelHasGoneIsRefusedWhereOthersTookTheMemory) {
  house.evictable("a", {.auto_evict = true, .evict_idle_timeout = Millis{0}});
  house.simulate(-1);
  house.stopped("a");
  house.pass(Millis{6000});
  EXPECT_THAT(house.acquire("a"), ElementsAre("sample"));
  EXPECT_THAT(house.free(5), ElementsAre("reject 3: insufficient_memory"));
}

TEST(QueueCap, WhoeverWouldHaveToWaitBeyondItIsRefusedAtOnce) {
  CoreHarness house({.limits = Limits::of_all(1), .max_queued = 2});
  house.have_busy("a");
  house.acquire("b");
  house.acquire("c");
  EXPECT_THAT(house.acquire("d"), ElementsAre("reject 4: queue_full"));
  EXPECT_TRUE(house.error(4).retry_after);
  EXPECT_EQ(kind_of(house.error(4).code), ErrorKind::unavailable);
  EXPECT_THAT(house.acquire("b"), ElementsAre("reject 5: queue_full"));
  EXPECT_THAT(house.load("b", 1), ElementsAre("reject 6: queue_full"));
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 7 on a"));
  EXPECT_THAT(house.load("a"), ElementsAre("resident 8 a"));
  house.cancel(3);
  EXPECT_THAT(house.acquire("d"), IsEmpty());
}

}  // namespace
}  // namespace corral::residency
