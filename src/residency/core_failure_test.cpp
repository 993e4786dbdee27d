// Failed loads, second attempts, cool-down, deadlines, crashes.
#include "residency/errc.h"
#include "residency/house_fixture.h"

namespace corral::residency {
namespace {

class NoRetry : public testing::TestWithParam<LoadFault> {};
INSTANTIATE_TEST_SUITE_P(Faults, NoRetry,
                         testing::Values(LoadFault::file_not_found, LoadFault::invalid, LoadFault::never_fits),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(NoRetry, EvictsNobodyAndIsTheAnswer) {
  House house(House::slots(3));
  house.have_idle("a");
  house.acquire("b");
  EXPECT_THAT(house.fail("b", GetParam()), ElementsAre("reject 2: Input/output error"));
  EXPECT_EQ(house.error(2).message, "it broke");
  EXPECT_EQ(house.state("a"), ServerState::ready);
  EXPECT_EQ(house.state("b"), ServerState::gone);
  for (int i = 0; i < 5; ++i) {  // and never leads to a cool-down
    EXPECT_THAT(house.acquire("b"), ElementsAre("start b"));
    house.fail("b", GetParam());
  }
}

TEST(SecondAttempt, EvictsEverybodyOfEveryTypeFirst) {
  House house(House::slots(3));
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
  House house;
  house.acquire("b");
  house.acquire("b");
  EXPECT_THAT(house.fail("b"), ElementsAre("start again b"));
  EXPECT_THAT(house.fail("b"), ElementsAre("reject 1: Input/output error", "reject 2: Input/output error"));
}

TEST(SecondAttempt, KeepsTheEvictionSettingsThatChangedDuringTheFirst) {
  House house;
  house.acquire("b");
  EXPECT_THAT(house.evictable("b", {.auto_evict = true}), ElementsAre("watch"));
  EXPECT_THAT(house.fail("b"), ElementsAre("start again b"));
  EXPECT_TRUE(house.core().state().find(ModelName("b"))->current->eviction.auto_evict);
}

TEST(SecondAttempt, SparesPinnedModels) {
  House house(House::slots(3), {ModelName("a")});
  house.have_idle("a");
  house.acquire("b");
  EXPECT_THAT(house.fail("b"), ElementsAre("start again b"));
  EXPECT_EQ(house.state("a"), ServerState::ready);
}

TEST(SecondAttempt, DrivesOutPinnedModelsWhenToldSo) {
  House house({.limits = Limits::of_all(3), .nuclear_evicts_pinned = true}, {ModelName("a")});
  house.have_idle("a");
  house.acquire("b");
  EXPECT_THAT(house.fail("b"), ElementsAre("stop a: evict_all"));
}

TEST(SecondAttempt, WaitsForBusyServersAndLetsOthersPassMeanwhile) {
  House house(House::slots(3));
  house.model("e", ModelType::embedding);
  const auto a = house.have_busy("a");
  house.acquire("b");
  EXPECT_THAT(house.fail("b"), IsEmpty());
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 3 on a"));
  EXPECT_THAT(house.acquire("e"), ElementsAre("start e"));
  house.succeed("e");
  house.pass(Millis{2000});
  EXPECT_EQ(house.state("a"), ServerState::draining);
  EXPECT_EQ(house.state("e"), ServerState::in_use);  // it came later, so it isn't disturbed before its time
  house.finish(3);
  EXPECT_THAT(house.finish(a), ElementsAre("stop a: evict_all"));
  EXPECT_THAT(house.acquire("c"), IsEmpty());  // from here on nobody passes
  EXPECT_THAT(house.stopped("a"), IsEmpty());
  EXPECT_THAT(house.finish(4), ElementsAre("stop e: evict_all"));
  EXPECT_THAT(house.stopped("e"), ElementsAre("start again b"));
}

TEST(SecondAttempt, StaysFirstInTheQueue) {
  House house(House::slots(3));
  house.acquire("a");
  house.acquire("b");
  EXPECT_THAT(house.fail("a"), ElementsAre("start again a"));
}

TEST(SecondAttempt, IsDroppedWhenNobodyWaits) {
  House house(House::slots(3));
  house.have_busy("a");
  house.acquire("b");
  house.fail("b");
  EXPECT_THAT(house.cancel(2), IsEmpty());
  house.pass(Millis{5000});
  EXPECT_EQ(house.state("a"), ServerState::in_use);
  EXPECT_THAT(house.snapshot().queue, IsEmpty());
}

void fail_twice(House& house) {
  house.acquire("b");
  house.fail("b");
  house.fail("b");
}

TEST(Cooldown, BeginsAfterRepeatedFailureAndTellsWhenAndWhy) {
  House house;
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
  House house;
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
  House house;
  fail_twice(house);
  house.have_idle("b");
  house.died("b");
  fail_twice(house);
  EXPECT_THAT(house.acquire("b"), ElementsAre("start b"));
}

TEST(Cooldown, DoesNotConcernOtherOptions) {
  House house;
  fail_twice(house);
  fail_twice(house);
  EXPECT_THAT(house.load("b", 0), ElementsAre("reject 3: model_cooling_down"));
  EXPECT_THAT(house.load("b", 7), ElementsAre("start b"));
}

TEST(Deadline, AHungLoadIsKilledAndTriedAgain) {
  House house;
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
  House house({}, {ModelName("a")});
  house.have_busy("a");
  EXPECT_THAT(house.died("a"), IsEmpty());
  EXPECT_THAT(house.snapshot().servers, IsEmpty());
  EXPECT_THAT(house.finish(1), IsEmpty());  // the lease died with the server
  EXPECT_THAT(house.acquire("a"), ElementsAre("start a"));
  house.succeed("a");
  EXPECT_TRUE(house.snapshot().servers.at(0).pinned);
}

TEST(Crash, WhileLoadingIsAFailedLoad) {
  House house;
  house.acquire("a");
  EXPECT_THAT(house.died("a"), ElementsAre("start again a"));
  EXPECT_THAT(house.died("a"), ElementsAre("reject 1: model_load_error"));
  EXPECT_EQ(house.error(1).code, errc::load_crashed);
}

TEST(Crash, OfABusyVictimLetsTheLoadStart) {
  House house;
  house.have_busy("a");
  house.acquire("b");
  EXPECT_THAT(house.died("a"), ElementsAre("start b"));
}

TEST(Crash, OfAStoppingServerCountsAsStopped) {
  House house;
  house.have_idle("a");
  house.acquire("b");
  EXPECT_THAT(house.died("a"), ElementsAre("start b"));
  EXPECT_THAT(house.stopped("a"), IsEmpty());
}

}  // namespace
}  // namespace corral::residency
