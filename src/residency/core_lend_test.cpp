// What peers get, and what becomes of it.
#include "residency/errors.h"
#include "residency/lending_fixture_for_tests.h"

namespace corral::residency {
namespace {

TEST_F(Lending, AModelInMemoryServesPeersLikeAnybody) {
  have("a", 10);
  EXPECT_THAT(ask("a"), ElementsAre("grant 2 on a"));
  house.acquire("b");
  EXPECT_EQ(house.state("a"), InstanceState::in_use) << "a peer's request holds it like any other";
  EXPECT_FALSE(lent("a"));
  EXPECT_THAT(house.finish(2), ElementsAre("stop a: room"));
}

TEST_F(Lending, ALoadForAPeerTakesNoSlotOfTheOwners) {
  have("a", 10);
  house.needs("b", 10);
  EXPECT_THAT(ask("b"), ElementsAre("sample"));
  EXPECT_THAT(house.free(90), ElementsAre("start b"));
  EXPECT_THAT(house.succeed("b"), ElementsAre("grant 2 on b"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
  const Snapshot snapshot = house.snapshot();
  EXPECT_EQ(snapshot.taken[index_of(ModelType::llm)], 1u);
  EXPECT_EQ(snapshot.lent[index_of(ModelType::llm)], 1u);
  EXPECT_EQ(snapshot.lent_memory.at(0).total, 10u);
  EXPECT_TRUE(snapshot.instances.at(1).lent);
  EXPECT_EQ(snapshot.instances.at(1).peer_leases, 1u);
  EXPECT_THAT(house.acquire("c"), ElementsAre("stop a: room"));
  EXPECT_EQ(house.state("b"), InstanceState::in_use);
}

TEST_F(Lending, APeerIsRefusedAtOnceWhileAnotherModelLoadsOrWaits) {
  house.needs("b", 10);
  house.acquire("a");
  EXPECT_THAT(ask("b"), ElementsAre("reject 2: not_here"));
  EXPECT_THAT(why(), HasSubstr("another model loads"));
  EXPECT_EQ(house.error(2).fact<SoonHere>(), nullptr) << "nobody waits behind the owner";
  house.acquire("c");
  EXPECT_THAT(ask("c"), ElementsAre("reject 4: not_here"));
  EXPECT_THAT(ask("a"), IsEmpty()) << "it rides along with what loads";
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a", "grant 5 on a"));
  EXPECT_FALSE(lent("a"));
}

TEST_F(Lending, OneLoadForPeersAtATime) {
  house.needs("a", 10);
  house.needs("b", 10);
  ask("a");
  EXPECT_THAT(ask("b"), ElementsAre("reject 2: not_here"));
  EXPECT_NE(house.error(2).fact<SoonHere>(), nullptr) << "it may wait for that";
  EXPECT_THAT(ask("a"), IsEmpty());
  house.free(100);
  ask("b");
  EXPECT_NE(house.error(4).fact<SoonHere>(), nullptr);
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a", "grant 3 on a"));
}

TEST_F(Lending, TakesFreeMemoryOnlyAndSaysWhatIsShort) {
  house.needs("b", 50);
  ask("b");
  EXPECT_THAT(house.free(59), ElementsAre("reject 1: not_here"));
  const Error& error = house.error(1);
  ASSERT_EQ(error.memory.size(), 1u);
  EXPECT_EQ(error.memory[0].device, "gpu0");
  EXPECT_EQ(error.memory[0].need, 50u);
  EXPECT_EQ(error.memory[0].have, 49u) << "a tenth stays free";
  house.pass(Settings().memory_poll);
  ask("b");
  EXPECT_THAT(house.free(60), ElementsAre("start b"));
}

TEST_F(Lending, TakesNoMoreThanItsShareOfEachMemory) {
  house.settings({.limits = Limits::of_all(1), .lend_share = 0.5});
  lend("a", 30);
  house.needs("b", 21);
  ask("b");
  EXPECT_THAT(house.free(70), ElementsAre("reject 2: not_here"));
  EXPECT_EQ(house.error(2).memory.at(0).have, 20u);
  house.needs("b", 20);
  house.pass(Settings().memory_poll);
  ask("b");
  EXPECT_THAT(house.free(70), ElementsAre("start b"));
}

TEST_F(Lending, WhatIsOnItsWayOutIsStillLent) {
  house.settings({.limits = Limits::of_all(1), .lend_share = 0.5});
  lend("a", 30);
  house.pass(kQuiet);
  house.needs("b", 40);
  ask("b");
  EXPECT_THAT(house.free(70), ElementsAre("stop a: lend"));
  house.pass(Settings().memory_poll);
  EXPECT_THAT(house.free(70), IsEmpty());
  house.stopped("a");
  EXPECT_THAT(house.free(100), ElementsAre("start b"));
}

TEST_F(Lending, ALoadThatHadToWaitHasItsFilesLookedAtOnceMore) {
  have("a", 60);
  house.pass(kQuiet);
  house.needs("b", 60).to_check = true;
  EXPECT_THAT(ask("b"), ElementsAre("check b"));
  EXPECT_THAT(house.checked("b"), ElementsAre("sample"));
  EXPECT_THAT(house.free(40), ElementsAre("stop a: lend"));
  house.pass(Millis{2'000});
  house.stopped("a");
  EXPECT_THAT(house.free(100), ElementsAre("check b"));
  EXPECT_THAT(house.checked("b"), ElementsAre("start b"));
}

TEST_F(Lending, NothingIsLentWhereItsShareIsNone) {
  house.settings({.limits = Limits::of_all(1), .lend_share = 0});
  have("a", 10);
  EXPECT_THAT(ask("b"), ElementsAre("reject 2: not_here"));
  EXPECT_THAT(why(), HasSubstr("lends no memory"));
  EXPECT_THAT(ask("a"), ElementsAre("grant 3 on a")) << "what is in memory anyway serves";
}

TEST_F(Lending, WhatNobodyKnowsTheNeedsOfIsNotLent) {
  ask("b");
  EXPECT_THAT(house.free(100), ElementsAre("reject 1: not_here"));
  house.pass(Settings().memory_poll);
  ask("b");
  EXPECT_THAT(house.send(MemorySampled{}), ElementsAre("start b")) << "where no memory is measured no rule of it holds";
}

TEST_F(Lending, EvictsOnlyWhatNobodyHasUsedForLong) {
  have("a", 60);
  house.needs("b", 60);
  ask("b");
  EXPECT_THAT(house.free(40), ElementsAre("reject 2: not_here"));
  house.pass(kQuiet);
  ask("b");
  EXPECT_THAT(house.free(40), ElementsAre("stop a: lend"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("sample"));
  EXPECT_THAT(house.free(100), ElementsAre("start b"));
}

TEST_F(Lending, NeverAPinnedModel) {
  have("a", 60);
  house.pin("a");
  house.pass(kQuiet);
  house.needs("b", 60);
  ask("b");
  EXPECT_THAT(house.free(40), ElementsAre("reject 3: not_here"));
}

TEST_F(Lending, NoneOfTheOwnersWhereThatIsSwitchedOff) {
  house.settings({.limits = Limits::of_all(1), .lend_evicts_local = false});
  have("a", 60);
  house.pass(kQuiet);
  house.needs("b", 60);
  ask("b");
  EXPECT_THAT(house.free(40), ElementsAre("reject 2: not_here"));
}

TEST_F(Lending, LentModelsGoForPeersBeforeTheOwners) {
  have("a", 40);
  house.pass(Millis{1000});
  lend("b", 40, 60);
  house.pass(kQuiet);
  house.needs("c", 40);
  ask("c");
  EXPECT_THAT(house.free(20), ElementsAre("stop b: lend"));
}

TEST_F(Lending, NobodyGoesWhereAllTogetherWouldNotDo) {
  have("a", 40);
  house.pass(kQuiet);
  house.needs("b", 80);
  ask("b");
  EXPECT_THAT(house.free(30), ElementsAre("reject 2: not_here"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

TEST_F(Lending, SoManyModelsOfAType) {
  house.settings({.limits = Limits::of_all(1), .lend_slots = 1});
  lend("a", 10);
  house.needs("b", 10);
  EXPECT_THAT(ask("b"), ElementsAre("reject 2: not_here"));
  house.pass(kQuiet);
  ask("b");
  EXPECT_THAT(house.free(90), ElementsAre("stop a: lend"));
}

TEST_F(Lending, AFailedLoadForAPeerEvictsNobodyAndIsNoFailureOfTheOwners) {
  have("a", 10);
  house.needs("b", 10);
  for (int i = 0; i < 2; ++i) {
    ask("b");
    house.free(90);
    EXPECT_THAT(house.fail("b"), ElementsAre(fmt::format("reject {}: not_here", house.last_ticket())));
    EXPECT_THAT(why(), HasSubstr("it broke"));
  }
  EXPECT_EQ(house.state("a"), InstanceState::ready);
  EXPECT_THAT(ask("b"), ElementsAre("reject 4: not_here"));
  EXPECT_TRUE(house.error(4).retry_after) << "peers have to wait";
  EXPECT_THAT(house.acquire("b"), ElementsAre("sample")) << "the owner doesn't";
}

TEST_F(Lending, WhatEndsUnderRequestsOfPeersIsLeftAloneByThemOnly) {
  for (int i = 0; i < 3; ++i) {
    lend_busy("a", 10);
    house.died("a");
  }
  EXPECT_THAT(ask("a"), ElementsAre("reject 4: not_here"));
  EXPECT_THAT(house.acquire("a"), ElementsAre("sample"));
}

TEST_F(Lending, ALoadForAPeerIsAbortedForOneOfTheOwners) {
  house.needs("b", 10);
  ask("b");
  house.free(100);
  EXPECT_THAT(house.acquire("a"), ElementsAre("reject 1: not_here", "abort b: yield"));
  EXPECT_THAT(house.stopped("b"), ElementsAre("start a"));
}

TEST_F(Lending, NotBeforeTheFilesOfTheOwnersLoadHaveBeenLookedAt) {
  house.needs("b", 10);
  ask("b");
  house.free(100);
  house.model("a").to_check = true;
  EXPECT_THAT(house.acquire("a"), ElementsAre("check a"));
  EXPECT_THAT(house.missing("a"), ElementsAre("reject 2: No such file or directory"));
  EXPECT_THAT(house.succeed("b"), ElementsAre("grant 1 on b"));
}

TEST_F(Lending, ALoadForAPeerThatHasNotBegunGivesWay) {
  house.needs("b", 10);
  ask("b");
  EXPECT_THAT(house.acquire("a"), ElementsAre("start a", "reject 1: not_here"));
}

TEST_F(Lending, TheOwnersRequestForAModelThatLoadsForAPeerMakesItHis) {
  house.needs("b", 10);
  ask("b");
  house.free(100);
  EXPECT_THAT(house.acquire("b"), IsEmpty());
  EXPECT_FALSE(lent("b"));
  EXPECT_THAT(house.succeed("b"), ElementsAre("grant 1 on b", "grant 2 on b"));
  EXPECT_EQ(house.snapshot().taken[0], 1u);
}

TEST_F(Lending, TheOwnersRequestMakesALentModelHisAndTakesASlot) {
  have("a", 10);
  lend("b", 10, 90);
  const auto lease = house.core().try_acquire(ModelName("b"), house.now());
  EXPECT_FALSE(lease) << "somebody has to go for it";
  EXPECT_THAT(house.acquire("b"), ElementsAre("stop a: room", "grant 3 on b"));
  EXPECT_FALSE(lent("b"));
}

TEST_F(Lending, WithAFreeSlotNobodyGoesForThat) {
  lend("b", 10);
  EXPECT_FALSE(house.core().try_acquire(ModelName("b"), house.now())) << "not by the short way";
  EXPECT_THAT(house.acquire("b"), ElementsAre("grant 2 on b"));
  EXPECT_FALSE(lent("b"));
}

TEST_F(Lending, WhereNobodyCanGoItStaysLentAndServes) {
  have("a", 10);
  house.pin("a");
  lend("b", 10, 90);
  EXPECT_TRUE(house.core().try_acquire(ModelName("b"), house.now()));
  EXPECT_THAT(house.acquire("b"), ElementsAre("grant 4 on b"));
  EXPECT_TRUE(lent("b"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

TEST_F(Lending, APinMakesItHis) {
  lend("b", 10);
  EXPECT_THAT(house.pin("b"), ElementsAre("pin b"));
  EXPECT_FALSE(lent("b"));
}

TEST_F(Lending, APinOfOneThatLoadsForAPeerMakesItHisWhenItIsThere) {
  house.needs("b", 10);
  ask("b");
  house.free(100);
  EXPECT_THAT(house.pin("b"), ElementsAre("pin b"));
  EXPECT_TRUE(lent("b")) << "it may still have to yield";
  house.succeed("b");
  EXPECT_FALSE(lent("b"));
}

TEST_F(Lending, APinKeepsOneThatIsBeingRecalled) {
  const auto peer = lend_busy("b", 10);
  house.settings({.limits = Limits::of_all(1), .lend_share = 0});
  ASSERT_EQ(house.state("b"), InstanceState::draining);
  house.pin("b");
  EXPECT_EQ(house.state("b"), InstanceState::in_use);
  house.finish(peer);
  EXPECT_EQ(house.state("b"), InstanceState::ready);
}

TEST_F(Lending, APinIsRefusedWherePinnedModelsHaveEverySlot) {
  have("a", 10);
  house.pin("a");
  lend("b", 10, 90);
  EXPECT_THAT(house.pin("b"), ElementsAre("reject 4: slots_pinned_error"));
  EXPECT_TRUE(lent("b"));
}

TEST_F(Lending, UnusedLentModelsGoByThemselves) {
  lend("b", 10);
  house.pass(Settings().lend_idle_unload - Millis{1});
  EXPECT_EQ(house.state("b"), InstanceState::ready);
  EXPECT_THAT(house.pass(Millis{1}), ElementsAre("stop b: idle"));
}

TEST_F(Lending, ALoadForAPeerWaitsOnlySoLong) {
  house.needs("b", 10);
  house.model("b").to_check = true;
  EXPECT_THAT(ask("b"), ElementsAre("check b"));
  EXPECT_THAT(house.pass(Settings().lend_wait), ElementsAre("reject 1: not_here", "no check of b"));
}

TEST_F(Lending, PeersKeepNobodyOutOfTheQueue) {
  house.settings({.limits = Limits::of_all(1), .max_queued = 2});
  house.acquire("a");
  ask("a");
  ask("a");
  EXPECT_THAT(ask("a"), ElementsAre("reject 4: not_here"));
  EXPECT_THAT(house.acquire("a"), IsEmpty());
  EXPECT_THAT(house.acquire("a"), ElementsAre("reject 6: queue_full"));
}

TEST_F(Lending, ALoadThatItsOwnerGivesUpIsNotGoneOnWithForPeers) {
  house.acquire("a");
  ask("a");
  EXPECT_THAT(house.cancel(1), ElementsAre("reject 2: not_here", "abort a: cancelled"));
}

TEST_F(Lending, TheOwnersOptionsReloadALentModelAsHis) {
  const auto peer = lend_busy("b", 10);
  EXPECT_THAT(house.load("b", 7), ElementsAre("sample"));
  house.free(90);
  EXPECT_EQ(house.state("b"), InstanceState::draining);
  house.finish(peer);
  house.stopped("b");
  EXPECT_THAT(house.free(100), ElementsAre("start b"));
  EXPECT_FALSE(lent("b"));
}

TEST_F(Lending, ShutdownEndsAllThatIsLent) {
  lend("a", 10);
  house.needs("b", 10);
  ask("b");
  EXPECT_THAT(house.shutdown(), testing::IsSupersetOf({"reject 2: shutting_down", "stop a: shutdown"}));
  EXPECT_THAT(ask("a"), ElementsAre("reject 3: not_here"));
}

}  // namespace
}  // namespace corral::residency
