// Explicit load and unload, shutdown, what snapshots show.
#include "residency/core_harness_for_tests.h"

namespace corral::residency {
namespace {

TEST(ExplicitLoad, AnswersWhenTheModelIsThere) {
  CoreHarness house;
  EXPECT_THAT(house.load("a"), ElementsAre("start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("loaded 1 a"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

TEST(ExplicitLoad, OfAResidentModelWithEqualOptionsTouchesItOnly) {
  CoreHarness house(CoreHarness::slots(2));
  house.have_idle("a");
  house.have_idle("b");
  EXPECT_THAT(house.load("a"), ElementsAre("resident 3 a"));
  EXPECT_THAT(house.acquire("c"), ElementsAre("stop b: room"));
}

TEST(ExplicitLoad, WithOtherOptionsReloads) {
  CoreHarness house(CoreHarness::slots(5));
  house.have_idle("a");
  EXPECT_THAT(house.load("a", 1), ElementsAre("stop a: reload"));
  EXPECT_THAT(house.acquire("a"), IsEmpty());
  EXPECT_THAT(house.stopped("a"), ElementsAre("start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("loaded 2 a", "grant 3 on a"));
  EXPECT_THAT(house.load("a", 1), ElementsAre("resident 4 a"));
}

TEST(ExplicitLoad, AReloadKeepsThePin) {
  CoreHarness house({}, {ModelName("a")});
  house.have_idle("a");
  EXPECT_THAT(house.load("a", 1), ElementsAre("stop a: reload"));
  house.stopped("a");
  EXPECT_THAT(house.succeed("a"), ElementsAre("loaded 2 a"));
  EXPECT_TRUE(house.snapshot().instances.at(0).pinned);
}

TEST(ExplicitLoad, AReloadWaitsForRunningRequestsWithPatience) {
  CoreHarness house;
  const auto a = house.have_busy("a");
  EXPECT_THAT(house.load("a", 1), IsEmpty());
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 3 on a"));
  house.pass(Millis{2000});
  EXPECT_THAT(house.acquire("a"), IsEmpty());
  house.finish(a);
  EXPECT_THAT(house.finish(3), ElementsAre("stop a: reload"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("loaded 2 a", "grant 4 on a"));
}

TEST(ExplicitLoad, ACancelledReloadLeavesTheInstanceAndServesWhoCameMeanwhile) {
  CoreHarness house;
  house.have_busy("a");
  house.load("a", 1);
  house.pass(Millis{2000});
  EXPECT_THAT(house.acquire("a"), IsEmpty());
  EXPECT_THAT(house.cancel(2), IsEmpty());  // the newcomer keeps the reload alive
  house.finish(1);
  EXPECT_THAT(house.stopped("a"), ElementsAre("start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 3 on a"));
}

TEST(ExplicitLoad, InferenceRequestsDoNotReload) {
  CoreHarness house;
  house.load("a", 1);
  house.succeed("a");
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 2 on a"));
}

TEST(ExplicitLoad, JoinsALoadWithEqualOptionsAndQueuesBehindOneWithOthers) {
  CoreHarness house;
  house.acquire("a");
  EXPECT_THAT(house.load("a", 0), IsEmpty());
  EXPECT_THAT(house.load("a", 1), IsEmpty());
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a", "loaded 2 a"));
  EXPECT_THAT(house.finish(1), ElementsAre("stop a: reload"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("loaded 3 a"));
}

// Found by simulation: the second load stayed behind in the queue, and the first was aborted though it was wanted.
TEST(ExplicitLoad, GoingBackToTheOptionsThatLoadJoinsThatLoad) {
  CoreHarness house;
  house.acquire("a");
  house.load("a", 2, true);
  EXPECT_THAT(house.load("a", 0), IsEmpty());
  EXPECT_THAT(house.snapshot().queue, IsEmpty());
  EXPECT_THAT(house.cancel(1), IsEmpty());
  EXPECT_THAT(house.succeed("a"), ElementsAre("pin a", "loaded 2 a", "loaded 3 a"));
}

TEST(Unload, StopsAnIdleModelAndAnswersWhenItIsGone) {
  CoreHarness house;
  house.have_idle("a");
  EXPECT_THAT(house.unload("a"), ElementsAre("stop a: unload"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("unloaded 2: a"));
}

TEST(Unload, WaitsForRunningRequests) {
  CoreHarness house;
  house.have_busy("a");
  EXPECT_THAT(house.unload("a"), IsEmpty());
  EXPECT_THAT(house.acquire("a"), IsEmpty());  // comes after the unload: loads anew
  EXPECT_THAT(house.finish(1), ElementsAre("stop a: unload"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("unloaded 2: a", "start a"));
}

TEST(Unload, OfAModelThatIsNotLoadedIsRefused) {
  CoreHarness house;
  house.have_busy("a");
  house.acquire("b");  // queued isn't loaded
  EXPECT_THAT(house.unload("x"), ElementsAre("reject 3: model_not_loaded"));
  EXPECT_THAT(house.unload("b"), ElementsAre("reject 4: model_not_loaded"));
}

TEST(Unload, OfALoadingModelServesItsWaitersFirst) {
  CoreHarness house;
  house.acquire("a");
  EXPECT_THAT(house.unload("a"), IsEmpty());
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a"));
  EXPECT_THAT(house.finish(1), ElementsAre("stop a: unload"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("unloaded 2: a"));
}

TEST(Unload, OfALoadingModelIsNotTheEndOfALoadThatIsAskedForLater) {
  CoreHarness house;
  house.load("a");
  house.unload("a");
  EXPECT_THAT(house.load("a"), IsEmpty());
  EXPECT_THAT(house.succeed("a"), ElementsAre("loaded 1 a", "stop a: unload"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("unloaded 2: a", "start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("loaded 3 a"));
}

TEST(Unload, OfALoadingModelThatFailsIsTheAnswerToALoadThatWasAskedForLater) {
  CoreHarness house;
  house.load("a");
  house.unload("a");
  house.load("a");
  EXPECT_THAT(house.fail("a"),
              ElementsAre("reject 1: Input/output error", "reject 3: Input/output error", "unloaded 2: a"));
  EXPECT_EQ(house.state("a"), InstanceState::gone);
}

TEST(Unload, MayTakeAPinnedModelAndItsPinWaitsForTheNextLoad) {
  CoreHarness house({}, {ModelName("a")});
  house.have_idle("a");
  EXPECT_THAT(house.unload("a"), ElementsAre("stop a: unload"));
  house.stopped("a");
  house.have_idle("a");
  EXPECT_TRUE(house.snapshot().instances.at(0).pinned);
}

TEST(Unload, AllTellsWhatIsGoneAndWhatStillDrains) {
  CoreHarness house(CoreHarness::slots(5));
  house.have_idle("a");
  house.have_busy("b");
  house.have_idle("c");
  house.acquire("d");
  EXPECT_THAT(house.unload_all(), ElementsAre("stop a: unload", "stop c: unload"));
  EXPECT_THAT(house.stopped("a"), IsEmpty());
  EXPECT_THAT(house.stopped("c"), ElementsAre("unloaded 5: a,c draining b,d"));
  EXPECT_THAT(house.finish(2), ElementsAre("stop b: unload"));
  EXPECT_THAT(house.succeed("d"), ElementsAre("grant 4 on d"));
  EXPECT_THAT(house.finish(4), ElementsAre("stop d: unload"));
}

TEST(Unload, AllOfNothingAnswersAtOnce) {
  CoreHarness house;
  EXPECT_THAT(house.unload_all(), ElementsAre("unloaded 1: "));
}

TEST(Unload, ADrainingVictimDoesNotComeBackAfterIt) {
  CoreHarness house;
  house.have_busy("a");
  house.acquire("b");
  house.pass(Millis{2000});
  house.unload("a");
  house.cancel(2);
  EXPECT_EQ(house.state("a"), InstanceState::draining);
  EXPECT_THAT(house.finish(1), ElementsAre("stop a: unload"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("unloaded 3: a"));
}

TEST(Shutdown, RefusesWhatWaitsLetsRequestsFinishAndStopsEverything) {
  CoreHarness house(CoreHarness::slots(3));
  house.have_idle("a");
  house.have_busy("b");
  house.acquire("c");
  house.acquire("d");
  EXPECT_THAT(house.shutdown(), ElementsAre("reject 4: shutting_down", "stop a: shutdown", "reject 3: shutting_down",
                                            "abort c: shutdown"));
  EXPECT_THAT(house.acquire("b"), ElementsAre("reject 5: shutting_down"));
  EXPECT_THAT(house.finish(2), ElementsAre("stop b: shutdown"));
  house.stopped("a");
  house.stopped("b");
  house.stopped("c");
  EXPECT_TRUE(house.core().state().instances.empty());
}

TEST(View, ShowsTheMostRecentModelWhileItIsInMemory) {
  CoreHarness house(CoreHarness::slots(2));
  house.have_idle("a");
  house.have_idle("b");
  EXPECT_EQ(house.snapshot().most_recent, ModelName("b"));
  house.died("b");
  EXPECT_EQ(house.snapshot().most_recent, ModelName("a")) << "of those that are left, the one loaded last";
  house.died("a");
  EXPECT_EQ(house.snapshot().most_recent, std::nullopt);
}

TEST(View, ShowsTheLoadThatRuns) {
  CoreHarness house;
  house.acquire("a");
  house.pass(Millis{40});
  const Snapshot snapshot = house.snapshot();
  ASSERT_TRUE(snapshot.loading);
  EXPECT_EQ(snapshot.loading->spec->name, ModelName("a"));
  EXPECT_EQ(snapshot.loading->since, Millis{40});
  EXPECT_THAT(snapshot.instances, IsEmpty());
}

TEST(View, LastUseIsWallClockTime) {
  CoreHarness house;
  house.have_idle("a");
  EXPECT_EQ(epoch_millis(house.snapshot().instances.at(0).last_use), epoch_millis(house.now().wall));
}

}  // namespace
}  // namespace corral::residency
