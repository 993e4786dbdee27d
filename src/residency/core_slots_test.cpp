// Slots, LRU, leases, auto-load protection, limits that change.
#include "residency/core_harness_for_tests.h"

namespace corral::residency {
namespace {

TEST(Slots, FirstRequestLoadsAndIsGrantedWhenTheLoadCompletes) {
  CoreHarness house;
  EXPECT_THAT(house.acquire("a"), ElementsAre("start a"));
  EXPECT_EQ(house.state("a"), InstanceState::loading);
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a"));
  EXPECT_EQ(house.state("a"), InstanceState::in_use);
  EXPECT_THAT(house.finish(1), IsEmpty());
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

TEST(Slots, RequestsToAResidentModelAreGrantedAtOnce) {
  CoreHarness house;
  house.have_busy("a");
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 2 on a"));
}

TEST(Slots, AFreeSlotEvictsNobody) {
  CoreHarness house(CoreHarness::slots(2));
  house.have_idle("a");
  EXPECT_THAT(house.acquire("b"), ElementsAre("start b"));
}

TEST(Slots, WhetherALoadMayEvictIsKnownBeforehand) {
  CoreHarness house(CoreHarness::slots(2));
  house.model("e", ModelType::embedding);
  const auto may_evict = [&](const char* name) { return house.core().may_evict(house.spec(name), house.now()); };
  EXPECT_FALSE(may_evict("a"));
  house.acquire("a");
  EXPECT_TRUE(may_evict("b"));  // a's load may fail, and be tried again with all memory free
  house.succeed("a");
  EXPECT_FALSE(may_evict("b"));
  house.have_idle("b");
  EXPECT_TRUE(may_evict("c"));
  EXPECT_FALSE(may_evict("e"));
  house.pin("a");
  house.pin("b");
  EXPECT_FALSE(may_evict("c"));  // it would be refused
}

TEST(Slots, TheLeastRecentlyUsedOfTheTypeGoes) {
  CoreHarness house(CoreHarness::slots(2));
  house.have_idle("a");
  house.have_idle("b");
  house.acquire("a");
  house.finish(house.last_ticket());  // a is the newer one now
  EXPECT_THAT(house.acquire("c"), ElementsAre("stop b: room"));
  EXPECT_THAT(house.stopped("b"), ElementsAre("start c"));
}

TEST(Slots, TheEndOfARequestCountsAsUse) {
  CoreHarness house(CoreHarness::slots(2));
  const auto long_request = house.have_busy("a");
  house.have_idle("b");
  house.pass(Millis{10});
  house.finish(long_request);
  EXPECT_THAT(house.acquire("c"), ElementsAre("stop b: room"));
}

TEST(Slots, AnIdleInstanceGoesBeforeABusyOneThatWasUsedLessRecently) {
  CoreHarness house(CoreHarness::slots(2));
  house.have_busy("a");
  house.have_idle("b");
  EXPECT_THAT(house.acquire("c"), ElementsAre("stop b: room"));
}

TEST(Slots, TypesDoNotShareSlots) {
  CoreHarness house;
  house.model("e", ModelType::embedding);
  house.have_idle("a");
  EXPECT_THAT(house.acquire("e"), ElementsAre("start e"));
}

TEST(Slots, UnlimitedNeverEvicts) {
  CoreHarness house(CoreHarness::slots(kUnlimited));
  for (int i = 0; i < 50; ++i) house.have_idle("m" + std::to_string(i));
  EXPECT_THAT(house.snapshot().instances, SizeIs(50));
}

TEST(Slots, AVictimKeepsItsSlotUntilItIsGone) {
  CoreHarness house;
  house.have_idle("a");
  EXPECT_THAT(house.acquire("b"), ElementsAre("stop a: room"));
  EXPECT_EQ(house.state("b"), InstanceState::queued);
  EXPECT_THAT(house.acquire("a"), IsEmpty());  // too late for a: it loads again behind b
  EXPECT_THAT(house.stopped("a"), ElementsAre("start b"));
}

TEST(Slots, TheRequestThatCausedALoadRunsBeforeItsInstanceCanBeAVictim) {
  CoreHarness house;
  house.acquire("a");
  EXPECT_THAT(house.acquire("b"), IsEmpty());
  EXPECT_THAT(house.acquire("a"), IsEmpty());
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a", "grant 3 on a"));
  EXPECT_THAT(house.finish(1), IsEmpty());
  EXPECT_THAT(house.finish(3), ElementsAre("stop a: room"));
}

TEST(Slots, LoweringTheLimitEvictsIdleInstancesLeastRecentlyUsedFirst) {
  CoreHarness house(CoreHarness::slots(3));
  house.have_idle("a");
  house.have_busy("b");
  house.have_idle("c");
  EXPECT_THAT(house.settings(CoreHarness::slots(2)), ElementsAre("stop a: limit"));
  house.stopped("a");
  EXPECT_THAT(house.settings(CoreHarness::slots(1)), ElementsAre("stop c: limit"));
}

TEST(Slots, AInstanceAboveALoweredLimitGoesWhenItBecomesIdle) {
  CoreHarness house(CoreHarness::slots(2));
  const auto a = house.have_busy("a");
  house.have_busy("b");
  EXPECT_THAT(house.settings(CoreHarness::slots(1)), IsEmpty());
  EXPECT_THAT(house.finish(a), ElementsAre("stop a: limit"));
}

// Found by simulation: the limit was checked before the draining instance came back, and not again.
TEST(Slots, AInstanceThatComesBackFromDrainingCountsForALoweredLimit) {
  CoreHarness house({.limits = Limits::of_all(2), .swap_patience = Millis{0}});
  house.have_busy("a");
  house.have_idle("b");
  house.load("a", 1);
  EXPECT_EQ(house.state("a"), InstanceState::draining);
  EXPECT_THAT(house.settings({.limits = Limits::of_all(1), .swap_patience = Millis{1000}}),
              ElementsAre("stop b: limit"));
  EXPECT_EQ(house.state("a"), InstanceState::in_use);
}

TEST(Slots, RaisingTheLimitStartsTheLoadThatWaits) {
  CoreHarness house;
  house.have_busy("a");
  EXPECT_THAT(house.acquire("b"), IsEmpty());
  EXPECT_THAT(house.settings(CoreHarness::slots(2)), ElementsAre("start b"));
}

TEST(Slots, TheShortWayGrantsLikeAcquire) {
  CoreHarness house;
  EXPECT_FALSE(house.core().try_acquire(ModelName("a"), house.now()));
  house.acquire("a");
  EXPECT_FALSE(house.core().try_acquire(ModelName("a"), house.now()));
  house.succeed("a");
  const auto lease = house.core().try_acquire(ModelName("a"), house.now());
  ASSERT_TRUE(lease);
  EXPECT_THAT(house.finish(1), IsEmpty());
  EXPECT_THAT(house.acquire("b"), IsEmpty());
  EXPECT_THAT(house.send(ReturnLease{lease->id}), ElementsAre("stop a: room"));
}

TEST(Slots, ALeaseIsReturnedOnlyOnce) {
  CoreHarness house;
  house.have_busy("a");
  house.acquire("a");
  house.finish(1);
  house.finish(1);
  EXPECT_EQ(house.state("a"), InstanceState::in_use);
  house.finish(2);
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

}  // namespace
}  // namespace corral::residency
