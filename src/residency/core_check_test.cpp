// Looks at files and needs: when they are asked for, who waits for them, and that nobody goes before.
#include "residency/core_harness_for_tests.h"

namespace corral::residency {
namespace {

class Check : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "c"}) house.model(name).to_check = true;
  }
  void have_checked_idle(const std::string& name) {
    house.acquire(name);
    const auto number = house.last_ticket();
    house.checked(name);
    house.succeed(name);
    house.finish(number);
  }
  CoreHarness house;
};

TEST_F(Check, ComesBeforeALoadStarts) {
  EXPECT_THAT(house.acquire("a"), ElementsAre("check a"));
  ASSERT_THAT(house.snapshot().queue, SizeIs(1));
  EXPECT_TRUE(house.snapshot().queue[0].checking);
  EXPECT_THAT(house.checked("a"), ElementsAre("start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a"));
}

TEST_F(Check, IsOneForAllWhoWaitForAModel) {
  house.acquire("a");
  for (int i = 0; i < 99; ++i) EXPECT_THAT(house.acquire("a"), IsEmpty());
  EXPECT_EQ(house.snapshot().queue[0].waiters, 100U);
  EXPECT_THAT(house.checked("a"), ElementsAre("start a"));
}

TEST_F(Check, OfALoadAskedForTwiceIsOne) {
  EXPECT_THAT(house.load("a", 3), ElementsAre("check a"));
  EXPECT_THAT(house.load("a", 3), IsEmpty());
  EXPECT_THAT(house.checked("a"), ElementsAre("start a"));
}

TEST_F(Check, ThatFailsIsTheAnswerAndNobodyGoes) {
  have_checked_idle("a");
  EXPECT_THAT(house.acquire("b"), ElementsAre("check b"));
  EXPECT_THAT(house.acquire("b"), IsEmpty());
  EXPECT_THAT(house.missing("b"),
              ElementsAre("reject 2: No such file or directory", "reject 3: No such file or directory"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
  EXPECT_THAT(house.snapshot().failures, IsEmpty());
  EXPECT_THAT(house.acquire("b"), ElementsAre("check b"));
}

TEST_F(Check, OfASilentDiskHoldsUpNobody) {
  house.acquire("a");
  EXPECT_THAT(house.acquire("b"), ElementsAre("check b"));
  EXPECT_THAT(house.checked("b"), ElementsAre("start b"));
  EXPECT_THAT(house.succeed("b"), ElementsAre("grant 2 on b"));
}

TEST_F(Check, IsDroppedWhenNobodyWaitsAnyMore) {
  house.acquire("a");
  house.acquire("a");
  EXPECT_THAT(house.cancel(1), IsEmpty());
  EXPECT_THAT(house.cancel(2), ElementsAre("no check of a"));
  EXPECT_THAT(house.checked("a"), IsEmpty());
  EXPECT_THAT(house.snapshot().queue, IsEmpty());
}

TEST_F(Check, IsDroppedAtShutdown) {
  house.acquire("a");
  EXPECT_THAT(house.shutdown(), ElementsAre("reject 1: shutting_down", "no check of a"));
}

// A file that went missing while its load waited was found out by the child, when its victim had gone.
TEST_F(Check, IsMadeAgainWhenALoadsTurnComesAfterAWaitAndWhatIsMissingThenEvictsNobody) {
  have_checked_idle("a");
  house.acquire("a");
  house.acquire("b");
  EXPECT_THAT(house.checked("b"), IsEmpty());  // a is busy
  house.pass(Millis{1500});
  EXPECT_THAT(house.finish(2), ElementsAre("check b"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
  EXPECT_THAT(house.missing("b"), ElementsAre("reject 3: No such file or directory"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

TEST_F(Check, MadeAgainLetsTheLoadGoOn) {
  have_checked_idle("a");
  house.acquire("a");
  house.acquire("b");
  house.checked("b");
  house.pass(Millis{1500});
  house.finish(2);
  EXPECT_THAT(house.checked("b"), ElementsAre("stop a: room"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("start b"));
}

TEST_F(Check, ComesAgainBeforeABusyVictimDrains) {
  have_checked_idle("a");
  house.acquire("a");
  house.acquire("b");
  house.checked("b");
  EXPECT_THAT(house.pass(Millis{2000}), ElementsAre("check b"));
  EXPECT_EQ(house.state("a"), InstanceState::in_use);
  EXPECT_THAT(house.checked("b"), IsEmpty());
  EXPECT_EQ(house.state("a"), InstanceState::draining);
}

TEST_F(Check, MadeAgainKeepsTheTurnForAWhileOnly) {
  have_checked_idle("a");
  house.acquire("a");
  house.acquire("b");
  house.checked("b");
  house.acquire("c");
  house.checked("c");
  house.pass(Millis{1500});
  EXPECT_THAT(house.finish(2), ElementsAre("check b"));
  EXPECT_THAT(house.unload("a"), ElementsAre("stop a: unload"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("unloaded 5: a")) << "b has the turn";
  house.model("e", ModelType::embedding);
  EXPECT_THAT(house.acquire("e"), IsEmpty());
  EXPECT_THAT(house.pass(Millis{500}), ElementsAre("start e")) << "another slot; c leaves b its own";
}

// Where a look takes long, the next one would be late for its turn as well.
TEST_F(Check, OfASlowDiskIsTrustedForLonger) {
  have_checked_idle("a");
  house.acquire("a");
  house.acquire("b");
  house.pass(Millis{600});
  house.checked("b");
  house.pass(Millis{1300});
  EXPECT_THAT(house.finish(2), ElementsAre("stop a: room"));
}

TEST_F(Check, OfOtherOptionsIsAnotherOneAndTheOldAnswerCountsNoMore) {
  EXPECT_THAT(house.load("a", 1), ElementsAre("check a"));
  const auto old = house.core().state().find(ModelName("a"))->pending->check;
  EXPECT_THAT(house.load("a", 2), ElementsAre("no check of a", "check a"));
  const auto id = house.core().state().find(ModelName("a"))->pending->id;
  EXPECT_THAT(house.send(CheckFailed{id, old, Error(std::make_error_code(std::errc::io_error), "old")}), IsEmpty());
  EXPECT_THAT(house.checked("a"), ElementsAre("start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("loaded 1 a", "loaded 2 a"));
}

// A load with options that name a missing file took the requests with it that had asked for the model only.
TEST_F(Check, ThatFailsForAnothersOptionsLeavesTheRestTheirLoad) {
  EXPECT_THAT(house.acquire("a"), ElementsAre("check a"));
  EXPECT_THAT(house.load("a", 7, true), ElementsAre("no check of a", "check a"));
  EXPECT_THAT(house.missing("a"), ElementsAre("reject 2: No such file or directory", "check a"));
  EXPECT_THAT(house.checked("a"), ElementsAre("start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a"));
  EXPECT_FALSE(house.snapshot().instances.at(0).pinned);
}

TEST_F(Check, ToldWhatALoadTakes) {
  house.needs("a", 30);
  house.acquire("a");
  EXPECT_THAT(house.checked("a"), ElementsAre("sample"));
  EXPECT_THAT(house.free(50), ElementsAre("start a"));
}

TEST_F(Check, IsNotNeededByWhoeverIsThere) {
  have_checked_idle("a");
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 2 on a"));
}

TEST_F(Check, OfPinnedOutLoadsComesFirst) {
  have_checked_idle("a");
  house.pin("a");
  EXPECT_THAT(house.acquire("b"), ElementsAre("check b"));
  EXPECT_THAT(house.checked("b"), ElementsAre("reject 3: slots_pinned_error"));
}

}  // namespace
}  // namespace corral::residency
