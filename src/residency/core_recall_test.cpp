// What peers have, and how the owner gets it back.
#include "residency/lending_fixture_for_tests.h"

namespace corral::residency {
namespace {

TEST_F(Lending, AnIdleLentModelIsTheFirstVictimHoweverLatelyItWasUsed) {
  house.settings(CoreHarness::slots(3));
  have("a", 30);
  house.pass(Millis{60'000});
  lend("b", 30, 70);
  house.needs("c", 50);
  house.acquire("c");
  EXPECT_THAT(house.free(40), ElementsAre("stop b: recall"));
  house.stopped("b");
  EXPECT_THAT(house.free(70), ElementsAre("start c"));
}

TEST_F(Lending, ABusyOneIsRecalledAndStoppedAfterItsTime) {
  house.settings(CoreHarness::slots(3));
  have("a", 30);
  const auto peer = lend_busy("b", 30, 70);
  house.needs("c", 50);
  house.acquire("c");
  EXPECT_THAT(house.free(40), IsEmpty());
  EXPECT_EQ(house.state("b"), InstanceState::draining);
  EXPECT_THAT(ask("b"), ElementsAre("reject 4: not_here")) << "no more requests of peers";
  house.pass(Millis{29'999});
  EXPECT_EQ(house.state("b"), InstanceState::draining);
  house.pass(Millis{1});
  EXPECT_EQ(house.state("b"), InstanceState::evicting);
  EXPECT_THAT(house.finish(peer), IsEmpty()) << "a request that ends as it is stopped";
  house.stopped("b");
  EXPECT_THAT(house.free(70), ElementsAre("start c"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

TEST_F(Lending, ARecalledModelThatIsIdleInTimeGoesAtOnce) {
  house.settings(CoreHarness::slots(3));
  const auto peer = lend_busy("b", 50);
  house.needs("c", 80);
  house.acquire("c");
  house.free(50);
  house.pass(Millis{1000});
  EXPECT_THAT(house.finish(peer), ElementsAre("stop b: recall"));
}

TEST_F(Lending, OneThatIsNoLongerWantedAwayServesAgain) {
  const auto peer = lend_busy("b", 50);
  house.needs("c", 80);
  house.acquire("c");
  house.free(50);
  house.cancel(2);
  EXPECT_EQ(house.state("b"), InstanceState::in_use);
  house.pass(Millis{60'000});
  EXPECT_EQ(house.state("b"), InstanceState::in_use);
  house.finish(peer);
}

TEST_F(Lending, RequestsOfTheOwnerOnALentModelAreNeverCutOff) {
  have("a", 10);
  house.pin("a");
  lend_busy("b", 50, 90);
  EXPECT_THAT(house.acquire("b"), ElementsAre("grant 4 on b"));
  const auto own = house.last_ticket();
  house.model("e", ModelType::embedding);
  house.needs("e", 80);
  house.acquire("e");
  house.free(40);
  house.pass(Millis{2'000});
  house.free(40);
  EXPECT_EQ(house.state("b"), InstanceState::draining);
  house.pass(Millis{60'000});
  EXPECT_EQ(house.state("b"), InstanceState::draining);
  EXPECT_THAT(house.finish(own), testing::Contains("stop b: recall"))
      << "only the peer's is left, and its time is over";
}

// It waited for as long as peers had requests there.
TEST_F(Lending, AnUnloadWaitsForRequestsOfPeersOnlySoLong) {
  const auto lent = lend_busy("b", 30);
  EXPECT_THAT(house.unload("b"), IsEmpty());
  EXPECT_EQ(house.state("b"), InstanceState::draining);
  EXPECT_THAT(house.pass(Millis{29'999}), IsEmpty());
  EXPECT_THAT(house.pass(Millis{1}), ElementsAre("stop b: unload"));
  EXPECT_THAT(house.finish(lent), IsEmpty());
  EXPECT_THAT(house.stopped("b"), ElementsAre("unloaded 2: b"));

  have("a", 10);
  ask("a");
  const auto peer = house.last_ticket();
  EXPECT_THAT(house.unload_all(), testing::Contains(HasSubstr("unloaded")));
  EXPECT_THAT(house.pass(Millis{30'000}), ElementsAre("stop a: unload"));
  house.finish(peer);
}

TEST_F(Lending, ALoadWaitsForRequestsOfPeersOnItsOwnersModelsOnlySoLong) {
  have("a", 10);
  ask("a");
  const auto peer = house.last_ticket();
  ASSERT_FALSE(lent("a"));
  house.acquire("b");
  house.pass(Settings().swap_patience);
  EXPECT_EQ(house.state("a"), InstanceState::draining);
  EXPECT_THAT(house.pass(Millis{29'999}), IsEmpty());
  EXPECT_THAT(house.pass(Millis{1}), ElementsAre("stop a: room"));
  house.finish(peer);
  EXPECT_THAT(house.stopped("a"), testing::Contains("start b"));
}

TEST_F(Lending, AModelThatHasToGoWaitsForItsOwnersRequestsHoweverLongTheyTake) {
  have("a", 10);
  house.acquire("a");
  const auto own = house.last_ticket();
  ask("a");
  const auto peer = house.last_ticket();
  house.acquire("b");
  house.pass(Settings().swap_patience);
  house.pass(Millis{60'000});
  EXPECT_EQ(house.state("a"), InstanceState::draining);
  EXPECT_THAT(house.finish(own), testing::Contains("stop a: room")) << "only the peer's is left, and its time is over";
  house.finish(peer);
}

TEST_F(Lending, LessToLendRecallsWhatIsLent) {
  lend("a", 30);
  const auto peer = lend_busy("b", 30, 70);
  EXPECT_THAT(house.settings({.limits = Limits::of_all(1), .lend_share = 0.5}), ElementsAre("stop a: recall"));
  house.settings({.limits = Limits::of_all(1), .lend_share = 0});
  EXPECT_EQ(house.state("b"), InstanceState::draining);
  house.pass(Millis{30'000});
  EXPECT_EQ(house.state("b"), InstanceState::evicting);
  house.finish(peer);
}

}  // namespace
}  // namespace corral::residency
