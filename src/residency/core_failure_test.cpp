// Failed loads, second attempts, cool-down, deadlines, crashes.
#include "residency/core_harness_for_tests.h"
#include "residency/errors.h"

namespace corral::residency {
namespace {

class NoRetry : public testing::TestWithParam<LoadFault> {};
INSTANTIATE_TEST_SUITE_P(Faults, NoRetry,
                         testing::Values(LoadFault::file_not_found, LoadFault::invalid, LoadFault::never_fits),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(NoRetry, EvictsNobodyAndIsTheAnswer) {
  CoreHarness house(CoreHarness::slots(3));
  house.have_idle("a");
  house.acquire("b");
  EXPECT_THAT(house.fail("b", GetParam()), ElementsAre("reject 2: Input/output error"));
  EXPECT_EQ(house.error(2).message, "it broke");
  EXPECT_EQ(house.state("a"), InstanceState::ready);
  EXPECT_EQ(house.state("b"), InstanceState::gone);
  for (int i = 0; i < 5; ++i) {  // and never leads to a cool-down
    EXPECT_THAT(house.acquire("b"), ElementsAre("start b"));
    house.fail("b", GetParam());
  }
}

TEST(SecondAttempt, EvictsEverybodyOfEveryTypeFirst) {
  CoreHarness house(CoreHarness::slots(3));
  house.model("e", ModelType::embedding);
  house.have_idle("a");
  house.have_idle("e");
  house.acquire("b");
  EXPECT_THAT(house.fail("b"), ElementsAre("stop a: evict_all", "stop e: evict_all"));
  EXPECT_THAT(house.stopped("a"), IsEmpty());
  EXPECT_THAT(house.stopped("e"), ElementsAre("start again b"));
  EXPECT_THAT(house.succeed("b"), ElementsAre("grant 3 on b"));
}

TEST(SecondAttempt, ItsFailureIsTheAnswer) {
  CoreHarness house;
  house.acquire("b");
  house.acquire("b");
  EXPECT_THAT(house.fail("b"), ElementsAre("start again b"));
  EXPECT_THAT(house.fail("b"), ElementsAre("reject 1: Input/output error", "reject 2: Input/output error"));
}

TEST(SecondAttempt, KeepsTheEvictionSettingsThatChangedDuringTheFirst) {
  CoreHarness house;
  house.acquire("b");
  EXPECT_THAT(house.evictable("b", {.auto_evict = true}), ElementsAre("watch"));
  EXPECT_THAT(house.fail("b"), ElementsAre("start again b"));
  EXPECT_TRUE(house.core().state().find(ModelName("b"))->current->eviction.auto_evict);
}

TEST(SecondAttempt, SparesPinnedModels) {
  CoreHarness house(CoreHarness::slots(3), {ModelName("a")});
  house.have_idle("a");
  house.acquire("b");
  EXPECT_THAT(house.fail("b"), ElementsAre("start again b"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

TEST(SecondAttempt, DrivesOutPinnedModelsWhenToldSo) {
  CoreHarness house({.limits = Limits::of_all(3), .nuclear_evicts_pinned = true}, {ModelName("a")});
  house.have_idle("a");
  house.acquire("b");
  EXPECT_THAT(house.fail("b"), ElementsAre("stop a: evict_all"));
}

TEST(SecondAttempt, WaitsForBusyInstancesAndLetsOthersPassMeanwhile) {
  CoreHarness house(CoreHarness::slots(3));
  house.model("e", ModelType::embedding);
  const auto a = house.have_busy("a");
  house.acquire("b");
  EXPECT_THAT(house.fail("b"), IsEmpty());
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 3 on a"));
  EXPECT_THAT(house.acquire("e"), ElementsAre("start e"));
  house.succeed("e");
  house.pass(Millis{2000});
  EXPECT_EQ(house.state("a"), InstanceState::draining);
  EXPECT_EQ(house.state("e"), InstanceState::in_use);  // it came later, so it isn't disturbed before its time
  house.finish(3);
  EXPECT_THAT(house.finish(a), ElementsAre("stop a: evict_all"));
  EXPECT_THAT(house.acquire("c"), IsEmpty());  // from here on nobody passes
  EXPECT_THAT(house.stopped("a"), IsEmpty());
  EXPECT_THAT(house.finish(4), ElementsAre("stop e: evict_all"));
  EXPECT_THAT(house.stopped("e"), ElementsAre("start again b"));
}

TEST(SecondAttempt, StaysFirstInTheQueue) {
  CoreHarness house(CoreHarness::slots(3));
  house.acquire("a");
  house.acquire("b");
  EXPECT_THAT(house.fail("a"), ElementsAre("start again a"));
}

TEST(SecondAttempt, IsDroppedWhenNobodyWaits) {
  CoreHarness house(CoreHarness::slots(3));
  house.have_busy("a");
  house.acquire("b");
  house.fail("b");
  EXPECT_THAT(house.cancel(2), IsEmpty());
  house.pass(Millis{5000});
  EXPECT_EQ(house.state("a"), InstanceState::in_use);
  EXPECT_THAT(house.snapshot().queue, IsEmpty());
}

TEST(EvictsNothing, ALoadIsRefusedIfAnotherModelHasItsSlot) {
  CoreHarness house(CoreHarness::slots(1));
  house.have_idle("a");
  house.model("b").evicts_nothing = true;
  EXPECT_THAT(house.load("b"), ElementsAre("reject 2: eviction_needed"));
  EXPECT_EQ(house.error(2).message, "'b' has no free slot or memory, and 'a' is not evicted for it");
  EXPECT_EQ(house.state("a"), InstanceState::ready);
  house.model("b").evicts_nothing = false;
  EXPECT_THAT(house.acquire("b"), ElementsAre("stop a: room"));
}

TEST(EvictsNothing, ALoadThatFailsHasNoSecondAttemptAndNoCooldown) {
  CoreHarness house(CoreHarness::slots(2));
  house.have_idle("a");
  house.model("b").evicts_nothing = true;
  EXPECT_THAT(house.load("b"), ElementsAre("start b"));
  EXPECT_THAT(house.fail("b"), ElementsAre("reject 2: Input/output error"));
  EXPECT_THAT(house.load("b"), ElementsAre("start b"));
  EXPECT_THAT(house.fail("b"), ElementsAre("reject 3: Input/output error"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
  house.model("b").evicts_nothing = false;
  EXPECT_THAT(house.acquire("b"), ElementsAre("start b"));
}

TEST(EvictsNothing, ARequestThatJoinsTheLoadMayEvict) {
  CoreHarness house(CoreHarness::slots(2));
  house.have_idle("a");
  house.model("b").evicts_nothing = true;
  EXPECT_THAT(house.load("b"), ElementsAre("start b"));
  house.model("b").evicts_nothing = false;
  house.acquire("b");
  EXPECT_THAT(house.fail("b"), ElementsAre("stop a: evict_all"));
}

void fail_twice(CoreHarness& house) {
  house.acquire("b");
  house.fail("b");
  house.fail("b");
}

TEST(Cooldown, BeginsAfterRepeatedFailureAndTellsWhenAndWhy) {
  CoreHarness house;
  fail_twice(house);
  fail_twice(house);
  EXPECT_THAT(house.acquire("b"), ElementsAre("reject 3: model_cooling_down"));
  EXPECT_EQ(house.error(3).retry_after, std::chrono::seconds(10));
  EXPECT_THAT(house.error(3).message, testing::HasSubstr("it broke"));
  EXPECT_THAT(house.snapshot().failures, SizeIs(1));
  house.pass(Millis{10'000});
  EXPECT_THAT(house.acquire("b"), ElementsAre("start b"));
}

TEST(Cooldown, DoublesUpToItsMost) {
  CoreHarness house;
  fail_twice(house);
  fail_twice(house);
  for (const int seconds : {10, 20, 40, 80, 160, 300, 300}) {
    house.acquire("b");
    EXPECT_EQ(house.error(house.last_ticket()).retry_after, std::chrono::seconds(seconds));
    house.pass(std::chrono::seconds(seconds));
    fail_twice(house);
  }
}

TEST(Cooldown, EndsWithASuccess) {
  CoreHarness house;
  fail_twice(house);
  house.have_idle("b");
  house.died("b");
  fail_twice(house);
  EXPECT_THAT(house.acquire("b"), ElementsAre("start b"));
}

TEST(Cooldown, DoesNotConcernOtherOptions) {
  CoreHarness house;
  fail_twice(house);
  fail_twice(house);
  EXPECT_THAT(house.acquire("b"), ElementsAre("reject 3: model_cooling_down"));
  EXPECT_THAT(house.load("b", 7), ElementsAre("start b"));
}

TEST(Cooldown, AnExplicitLoadAlwaysTries) {
  CoreHarness house;
  fail_twice(house);
  fail_twice(house);
  EXPECT_THAT(house.acquire("b"), ElementsAre("reject 3: model_cooling_down"));
  EXPECT_THAT(house.load("b"), ElementsAre("start b"));
  house.fail("b");
  EXPECT_THAT(house.fail("b"), ElementsAre("reject 4: Input/output error"));
  EXPECT_THAT(house.acquire("b"), ElementsAre("reject 5: model_cooling_down"));
}

TEST(Cooldown, DoesNotConcernOtherFiles) {
  CoreHarness house;
  house.model("b").files = 1;
  fail_twice(house);
  fail_twice(house);
  EXPECT_THAT(house.acquire("b"), ElementsAre("reject 3: model_cooling_down"));
  house.model("b").files = 0;  // unknown
  EXPECT_THAT(house.acquire("b"), ElementsAre("reject 4: model_cooling_down"));
  house.model("b").files = 2;
  EXPECT_THAT(house.acquire("b"), ElementsAre("start b"));
}

TEST(Deadline, AHungLoadIsKilledAndTriedAgain) {
  CoreHarness house;
  house.model("b").load_deadline = Millis{500};
  house.acquire("b");
  EXPECT_EQ(house.wake_in(), Millis{500});
  EXPECT_THAT(house.pass(Millis{500}), ElementsAre("abort b: deadline"));
  EXPECT_THAT(house.stopped("b"), ElementsAre("start again b"));
  EXPECT_THAT(house.pass(Millis{500}), ElementsAre("abort b: deadline"));
  EXPECT_THAT(house.stopped("b"), ElementsAre("reject 1: model_load_error"));
  EXPECT_EQ(house.error(1).code, errc::load_deadline);
}

TEST(Crash, TheNextRequestLoadsAgainAndThePinIsKept) {
  CoreHarness house({}, {ModelName("a")});
  house.have_busy("a");
  EXPECT_THAT(house.died("a"), IsEmpty());
  EXPECT_THAT(house.snapshot().instances, IsEmpty());
  EXPECT_THAT(house.finish(1), IsEmpty());  // the lease died with the instance
  EXPECT_THAT(house.acquire("a"), ElementsAre("start a"));
  house.succeed("a");
  EXPECT_TRUE(house.snapshot().instances.at(0).pinned);
}

TEST(Crash, WhileLoadingIsAFailedLoad) {
  CoreHarness house;
  house.acquire("a");
  EXPECT_THAT(house.died("a"), ElementsAre("start again a"));
  EXPECT_THAT(house.died("a"), ElementsAre("reject 1: model_load_error"));
  EXPECT_EQ(house.error(1).code, errc::load_crashed);
}

TEST(Crash, OfABusyVictimLetsTheLoadStart) {
  CoreHarness house;
  house.have_busy("a");
  house.acquire("b");
  EXPECT_THAT(house.died("a"), ElementsAre("start b"));
}

TEST(Crash, OfAStoppingInstanceCountsAsStopped) {
  CoreHarness house;
  house.have_idle("a");
  house.acquire("b");
  EXPECT_THAT(house.died("a"), ElementsAre("start b"));
  EXPECT_THAT(house.stopped("a"), IsEmpty());
}

// Loaded, and gone again with a request on it.
void end_under_a_request(CoreHarness& house) {
  house.have_busy("a");
  house.died("a");
}

// It was loaded anew for every request, for ever, and evicted whoever had its slot each time.
TEST(CrashCooldown, BeginsWhenAModelEndsUnderRequestsAgainAndAgainAndTellsWhenAndWhy) {
  CoreHarness house;
  end_under_a_request(house);
  end_under_a_request(house);
  end_under_a_request(house);
  EXPECT_THAT(house.acquire("a"), ElementsAre("reject 4: model_cooling_down"));
  EXPECT_EQ(house.error(4).retry_after, std::chrono::seconds(10));
  EXPECT_THAT(house.error(4).message, testing::HasSubstr("killed by signal 11"));
  EXPECT_EQ(kind_of(house.error(4).code), ErrorKind::unavailable);
  ASSERT_THAT(house.snapshot().failures, SizeIs(1));
  EXPECT_TRUE(house.snapshot().failures[0].under_requests);
  house.pass(Millis{10'000});
  end_under_a_request(house);
  EXPECT_THAT(house.acquire("a"), ElementsAre("reject 6: model_cooling_down"));
  EXPECT_EQ(house.error(6).retry_after, std::chrono::seconds(20));
}

TEST(CrashCooldown, CountsOnlyEndsUnderRequestsSoonAfterTheLoad) {
  CoreHarness house;
  for (int i = 0; i < 5; ++i) {
    house.have_idle("a");
    house.died("a");
  }
  for (int i = 0; i < 5; ++i) {
    house.have_busy("a");
    house.pass(Millis{60'001});
    house.died("a");
  }
  EXPECT_THAT(house.acquire("a"), ElementsAre("start a"));
}

TEST(CrashCooldown, DoesNotCountProcessesThatHadReadNothing) {
  CoreHarness house;
  for (int i = 0; i < 5; ++i) {
    house.have_busy("a");
    house.died("a", {.worked = false});
  }
  EXPECT_THAT(house.acquire("a"), ElementsAre("start a"));
}

TEST(CrashCooldown, IsForgottenWhenOneHasAnswered) {
  CoreHarness house;
  for (int i = 0; i < 5; ++i) {
    house.have_busy("a");
    house.died("a", {.answered = true});
  }
  EXPECT_THAT(house.acquire("a"), ElementsAre("start a"));
}

TEST(CrashCooldown, IsForgottenWhenOneHasLivedLong) {
  CoreHarness house;
  end_under_a_request(house);
  end_under_a_request(house);
  house.have_idle("a");
  house.pass(Millis{60'001});
  house.unload("a");
  house.stopped("a");
  EXPECT_THAT(house.snapshot().failures, IsEmpty());
  end_under_a_request(house);
  EXPECT_THAT(house.acquire("a"), ElementsAre("start a"));
}

TEST(CrashCooldown, IsForgottenWhenOneThatHadAnsweredWasStopped) {
  CoreHarness house;
  end_under_a_request(house);
  end_under_a_request(house);
  house.have_idle("a");
  house.unload("a");
  house.stopped("a", true);
  EXPECT_THAT(house.snapshot().failures, IsEmpty());
  end_under_a_request(house);
  EXPECT_THAT(house.acquire("a"), ElementsAre("start a"));
}

TEST(CrashCooldown, DoesNotConcernOtherOptionsOrOtherModels) {
  CoreHarness house;
  for (int i = 0; i < 3; ++i) end_under_a_request(house);
  EXPECT_THAT(house.acquire("b"), ElementsAre("start b"));
  house.succeed("b");
  EXPECT_THAT(house.load("a", 7), IsEmpty());
  house.finish(4);
  EXPECT_THAT(house.stopped("b"), ElementsAre("start a"));
}

TEST(CrashCooldown, IsToldToThoseWhoWaitForTheNextProcess) {
  CoreHarness house;
  end_under_a_request(house);
  end_under_a_request(house);
  house.have_busy("a");
  house.acquire("b");
  house.pass(Millis{2000});                    // a drains
  EXPECT_THAT(house.acquire("a"), IsEmpty());  // and waits behind b
  EXPECT_THAT(house.died("a"), ElementsAre("reject 5: model_cooling_down", "start b"));
}

// A load with options that can't work was the answer for those who had asked for the model only.
TEST(OtherLoadRequests, WhoAskedForAModelDoesNotHearThatAnothersOptionsFailed) {
  CoreHarness house;
  house.have_busy("a");
  house.load("a", 7);
  house.pass(Millis{2000});  // it drains for the reload
  EXPECT_THAT(house.acquire("a"), IsEmpty());
  house.finish(1);
  EXPECT_THAT(house.stopped("a"), ElementsAre("start a"));
  EXPECT_THAT(house.fail("a", LoadFault::invalid), ElementsAre("reject 2: Input/output error", "start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 3 on a"));
}

}  // namespace
}  // namespace corral::residency
