// Loads that start only when the memory they need is free.
#include "residency/errors.h"
#include "residency/memory_fixture_for_tests.h"

namespace corral::residency {
namespace {

struct Admission : Memory {
  // Asks for a model of these needs.
  CoreHarness::Lines want(const std::string& name, std::uint64_t total) {
    house.needs(name, total);
    return house.acquire(name);
  }
};

TEST_F(Admission, ALoadOfKnownNeedsLooksAtTheMemoryFirst) {
  EXPECT_THAT(want("a", 60), ElementsAre("sample"));
  EXPECT_THAT(want("b", 60), IsEmpty());  // one at a time
  EXPECT_THAT(house.free(60), ElementsAre("start a"));
}

TEST_F(Admission, UnknownMemoryAppliesNoRule) {
  want("a", 1000);
  EXPECT_THAT(house.send(MemorySampled{}), ElementsAre("start a"));
}

TEST_F(Admission, AMonitorThatDoesNotAnswerHoldsUpNobodyForEver) {
  want("a", 60);
  EXPECT_EQ(house.wake_in(), Millis{5000});
  EXPECT_THAT(house.pass(Millis{5000}), ElementsAre("start a"));
}

TEST_F(Admission, EvictsTheMostDisposableAsManyAsNeededAndWaitsForThem) {
  have("a", 20, 0, kOff);
  have("b", 20, 0, kOff);
  have("c", 20, 0, kOff);
  EXPECT_THAT(want("d", 70), ElementsAre("sample"));
  EXPECT_THAT(house.free(40), ElementsAre("stop a: memory", "stop b: memory"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("sample"));
  EXPECT_THAT(house.free(60), IsEmpty());
  EXPECT_THAT(house.stopped("b"), ElementsAre("sample"));
  EXPECT_THAT(house.free(80), ElementsAre("start d"));
}

TEST_F(Admission, ALoadThatEvictsNothingIsRefusedByAFreshSample) {
  have("a", 60, 0, kOff);
  house.needs("b", 60).evicts_nothing = true;
  EXPECT_THAT(house.load("b"), ElementsAre("sample"));
  EXPECT_THAT(house.free(40), ElementsAre("reject 2: eviction_needed"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

TEST_F(Admission, WhetherALoadMayEvictIsKnownFromAFreshSample) {
  have("a", 50, 0, kOff);
  const auto may_evict = [&](std::uint64_t total) {
    house.needs("b", total);
    return house.core().may_evict(house.spec("b"), house.now());
  };
  house.free(50);
  EXPECT_FALSE(may_evict(50));
  EXPECT_TRUE(may_evict(51));
  EXPECT_FALSE(may_evict(101));  // more than the machine has: refused
  house.pass(Millis{60'000});
  EXPECT_TRUE(may_evict(50));  // nobody knows
}

TEST_F(Admission, EvictsNobodyWhoTurnsOutSuperfluous) {
  have("small", 5, 0, kOff);
  house.pass(Millis{1000});
  have("big", 50, 0, kOff);
  want("d", 60);
  EXPECT_THAT(house.free(20), ElementsAre("stop big: memory"));
}

TEST_F(Admission, ReckonsWithThoseWhoGoForTheirSlots) {
  have("a", 30, 0, kOff);
  have("b", 30, 0, kOff);
  house.settings(CoreHarness::slots(2));
  want("c", 60);
  EXPECT_THAT(house.free(30), ElementsAre("stop a: room"));
}

TEST_F(Admission, PrefersDownsizing) {
  have("a", 30, 10, kOn);
  have("b", 30, 10, kOn);
  want("c", 50);
  EXPECT_THAT(house.free(40), ElementsAre("downsize a"));
  EXPECT_THAT(house.downsized("a"), ElementsAre("sample"));
  EXPECT_THAT(house.free(50), ElementsAre("start c"));
}

TEST_F(Admission, EvictsWhereDownsizingFails) {
  have("a", 30, 10, kOn);
  want("c", 50);
  house.free(40);
  EXPECT_THAT(house.not_downsized("a"), ElementsAre("stop a: memory", "watch no more"));
}

TEST_F(Admission, DownsizesNobodyWhoDidNotOptIn) {
  have("a", 30, 10, kOff);
  want("c", 50);
  EXPECT_THAT(house.free(40), ElementsAre("stop a: memory"));
}

TEST_F(Admission, WaitsForMemoryThatComesBackLate) {
  have("a", 50, 0, kOff);
  want("b", 80);
  house.free(50);
  EXPECT_THAT(house.stopped("a"), ElementsAre("sample"));
  EXPECT_THAT(house.free(50), IsEmpty());
  EXPECT_TRUE(house.snapshot().queue.at(0).for_memory);
  EXPECT_EQ(house.wake_in(), Millis{250});
  EXPECT_THAT(house.pass(Millis{250}), ElementsAre("sample"));
  EXPECT_THAT(house.free(100), ElementsAre("start b"));
}

TEST_F(Admission, LoadsInTrustWhenTheMemoryDoesNotShowUpInTime) {
  have("a", 50, 0, kOff);
  want("b", 80);
  house.free(50);
  house.stopped("a");
  house.free(50);
  EXPECT_THAT(house.pass(Millis{4999}), ElementsAre("sample"));
  EXPECT_THAT(house.free(60), IsEmpty());
  house.pass(Millis{250});
  EXPECT_THAT(house.free(60), ElementsAre("start b"));
}

TEST_F(Admission, WhatWasPromisedToALoadIsNotPromisedToItWithOtherOptions) {
  have("a", 50, 0, kOff);
  want("b", 80);
  house.free(30);  // others took 20
  house.stopped("a");
  house.free(30);
  house.pass(Millis{5000});
  house.needs("b", 95);
  EXPECT_THAT(house.load("b", 1), IsEmpty());
  EXPECT_THAT(house.free(60), ElementsAre("reject 3: insufficient_memory", "reject 2: insufficient_memory"))
      << "each by what it asked for";
}

TEST_F(Admission, WaitsForBusyModelsLikeForASlot) {
  have("a", 50, 0, kOff);
  house.acquire("a");
  const auto request = house.last_ticket();
  want("b", 80);
  EXPECT_THAT(house.free(50), IsEmpty());
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 4 on a"));
  house.pass(Millis{2000});
  house.free(50);
  EXPECT_EQ(house.state("a"), InstanceState::draining);
  house.finish(request);
  EXPECT_THAT(house.finish(4), ElementsAre("stop a: memory"));
}

TEST_F(Admission, ABusyVictimComesBackWhenOthersFreeTheMemory) {
  have("a", 50, 0, kOff);
  house.acquire("a");
  want("b", 80);
  house.free(50);
  house.pass(Millis{2000});
  house.free(50);
  ASSERT_EQ(house.state("a"), InstanceState::draining);
  EXPECT_THAT(house.acquire("a"), IsEmpty());
  EXPECT_THAT(house.free(85), ElementsAre("grant 4 on a", "start b"));
}

TEST_F(Admission, MoreThanTheMachineHasIsRefusedAndNobodyGoes) {
  have("a", 50, 0, kOff);
  EXPECT_THAT(want("b", 101), ElementsAre("reject 2: insufficient_memory"));
  EXPECT_EQ(kind_of(house.error(2).code), ErrorKind::unprocessable);
  ASSERT_THAT(house.error(2).memory, SizeIs(1));
  EXPECT_EQ(house.error(2).memory[0].device, "gpu0");
  EXPECT_EQ(house.error(2).memory[0].need, 101U);
  EXPECT_EQ(house.error(2).memory[0].have, 100U);
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

TEST_F(Admission, MemoryHeldByPinnedModelsIsRefusedLikePinnedSlots) {
  have("a", 50, 0, kOff);
  house.pin("a");
  want("b", 80);
  EXPECT_THAT(house.free(50), ElementsAre("reject 3: slots_pinned_error"));
  EXPECT_THAT(house.error(3).message, testing::HasSubstr("'a'"));
  EXPECT_EQ(house.error(3).memory.at(0).have, 50U);
}

TEST_F(Admission, MemoryHeldByOtherProgramsIsRefusedForNowAndNobodyGoesInVain) {
  have("a", 30, 0, kOff);
  want("b", 80);
  EXPECT_THAT(house.free(20), ElementsAre("reject 2: insufficient_memory"));
  EXPECT_EQ(kind_of(house.error(2).code), ErrorKind::unavailable);
  EXPECT_TRUE(house.error(2).retry_after);
  EXPECT_EQ(house.error(2).memory.at(0).have, 50U);
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

TEST_F(Admission, ASecondAttemptWaitsForTheMemoryOfThoseWhoWentButIsNotRefused) {
  have("a", 30, 0, kOff);
  want("b", 60);
  house.free(70);
  EXPECT_THAT(house.fail("b", LoadFault::out_of_memory), ElementsAre("sample"));
  EXPECT_THAT(house.free(20), ElementsAre("stop a: evict_all"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("sample"));
  EXPECT_THAT(house.free(20), IsEmpty());
  house.pass(Millis{5000});
  EXPECT_THAT(house.free(20), ElementsAre("start again b"));
}

TEST_F(Admission, ASecondAttemptWaitsForTheMemoryOfThoseWhoWentAlsoWhereItIsNotEnough) {
  have("a", 30, 0, kOff);
  house.acquire("a");
  const auto request = house.last_ticket();
  want("b", 60);
  house.free(70);
  house.fail("b", LoadFault::out_of_memory);
  house.pass(Millis{6000});
  house.free(20);  // others hold 50
  EXPECT_THAT(house.finish(request), ElementsAre("stop a: evict_all"));
  house.stopped("a");
  EXPECT_THAT(house.free(20), IsEmpty());
  EXPECT_THAT(house.pass(Millis{250}), ElementsAre("sample"));
  EXPECT_THAT(house.free(50), ElementsAre("start again b"));
}

TEST_F(Admission, ALoadPassesOneThatWaitsForMemoryOnlyIfItFitsBeside) {
  have("a", 50, 0, kOff);
  house.acquire("a");
  want("b", 70);
  house.free(40);
  house.model("e", ModelType::embedding);
  house.model("f", ModelType::image);
  EXPECT_THAT(want("e", 30), IsEmpty());
  house.cancel(house.last_ticket());
  EXPECT_THAT(want("f", 15), ElementsAre("start f"));
}

TEST_F(Admission, AReloadReckonsWithItsOwnOldInstance) {
  have("a", 90, 0, kOff);
  EXPECT_THAT(house.load("a", 1), ElementsAre("sample"));
  EXPECT_THAT(house.free(10), ElementsAre("stop a: reload"));
  house.stopped("a");
  EXPECT_THAT(house.free(100), ElementsAre("start a"));
}

// Found by simulation, as those that follow: what a running load will take was reckoned as gone for good.
TEST_F(Admission, NobodyIsRefusedInTheMiddleOfALoad) {
  want("a", 60);
  house.free(100);
  want("b", 50);
  EXPECT_THAT(house.free(30), IsEmpty());
  EXPECT_THAT(house.fail("a", LoadFault::invalid), ElementsAre("reject 1: Input/output error", "sample"));
  EXPECT_THAT(house.free(100), ElementsAre("start b"));
}

TEST_F(Admission, TrustIsOnlyForTheMemoryThatWasPromised) {
  house.model("a").memory = {{PoolId("ram"), 50, 0}};
  house.acquire("a");
  both(100, 100);
  house.succeed("a");
  house.finish(1);
  house.model("b").memory = {{PoolId("gpu0"), 80, 0}, {PoolId("ram"), 80, 0}};
  house.acquire("b");
  EXPECT_THAT(both(100, 50), ElementsAre("stop a: memory"));
  house.stopped("a");
  EXPECT_THAT(both(100, 50), IsEmpty());
  house.pass(Millis{5000});
  EXPECT_THAT(both(70, 100), ElementsAre("reject 2: insufficient_memory"));
}

TEST_F(Admission, TrustEndsWhenSomebodyElseHasToGo) {
  have("a", 50, 0, kOff);
  have("b", 20, 0, kOff);
  want("c", 80);
  EXPECT_THAT(house.free(30), ElementsAre("stop a: memory"));
  house.stopped("a");
  house.free(30);
  house.pass(Millis{5000});
  EXPECT_THAT(house.free(60), ElementsAre("stop b: memory"));
  house.stopped("b");
  EXPECT_THAT(house.free(70), IsEmpty());  // b's memory may be on its way still
  house.pass(Millis{5000});
  EXPECT_THAT(house.free(70), ElementsAre("start c"));
}

TEST_F(Admission, WhatAModelOfUnknownNeedsGivesUpForItsSlotCountsAsEnough) {
  house.settings(CoreHarness::slots(1));
  house.have_idle("unknown");
  want("b", 60);
  EXPECT_THAT(house.free(20), ElementsAre("stop unknown: room"));
  house.stopped("unknown");
  EXPECT_THAT(house.free(90), ElementsAre("start b"));
}

TEST_F(Admission, AInstanceThatGoesWhileItIsDownsizedGivesAllItHolds) {
  have("a", 60, 20, kOn);
  house.pass(Millis{60'000});
  ASSERT_EQ(house.state("a"), InstanceState::downsizing);
  house.needs("a", 90);
  EXPECT_THAT(house.load("a", 1), ElementsAre("sample"));
  EXPECT_THAT(house.free(40), ElementsAre("stop a: reload", "watch no more"));
}

}  // namespace
}  // namespace corral::residency
