// What a group of a mesh has in memory here: a share of another machine's model, and an engine that others compute for.
#include "residency/errors.h"
#include "residency/lending_fixture_for_tests.h"

namespace corral::residency {
namespace {

TEST_F(Lending, AShareIsBookedAndHasASlotOfItsOwn) {
  Settings settings = CoreHarness::slots(1);
  settings.lend_slots = 1;
  house.settings(settings);
  lend("a", 10);
  const auto lease = ask_share("s", 40);
  EXPECT_THAT(house.free(90), ElementsAre("start s"));
  EXPECT_THAT(house.succeed("s"), ElementsAre(fmt::format("grant {} on s", lease)));
  EXPECT_TRUE(lent("s"));
  EXPECT_EQ(house.state("a"), InstanceState::ready) << "nobody went for its slot";
  const Snapshot snapshot = house.snapshot();
  EXPECT_EQ(snapshot.lent[index_of(ModelType::llm)], 1u);
  ASSERT_EQ(snapshot.lent_memory.size(), 1u);
  EXPECT_EQ(snapshot.lent_memory.front().total, 50u);

  house.pass(kQuiet);
  house.needs("b", 10);
  ask("b");
  EXPECT_THAT(house.free(50), ElementsAre("stop a: lend")) << "of the models only";
}

TEST_F(Lending, AShareIsRefusedWhereTheMemoryIsShort) {
  ask_share("s", 95);
  EXPECT_THAT(house.free(100), ElementsAre("reject 1: not_here"));
  EXPECT_FALSE(house.error(1).memory.empty());
}

TEST_F(Lending, NothingThatIsLentDrivesAShareOut) {
  have_share("s", 60);
  house.pass(std::chrono::hours(2));
  house.needs("b", 40);
  ask("b");
  EXPECT_THAT(house.free(40), ElementsAre("reject 2: not_here"));
  EXPECT_EQ(house.state("s"), InstanceState::in_use);
}

TEST_F(Lending, TheOwnersLoadRecallsAShareAtOnceAndStopsItInTime) {
  const auto lease = have_share("s", 60);
  house.needs("b", 80);
  house.acquire("b");
  EXPECT_THAT(house.free(40), ElementsAre("recall s"));
  EXPECT_EQ(house.state("s"), InstanceState::draining);
  EXPECT_THAT(house.pass(Millis{29'999}), ElementsAre("sample")) << "told once";
  EXPECT_THAT(house.pass(Millis{1}), ElementsAre("stop s: recall"));
  EXPECT_THAT(house.finish(lease), IsEmpty());
  house.stopped("s");
  EXPECT_THAT(house.free(100), ElementsAre("start b"));
}

TEST_F(Lending, AShareThatIsLetGoOfInTimeGoesAtOnce) {
  const auto lease = have_share("s", 60);
  house.needs("b", 80);
  house.acquire("b");
  house.free(40);
  EXPECT_THAT(house.finish(lease), ElementsAre("stop s: recall"));
}

// The other machine has stopped its engine for it by then.
TEST_F(Lending, ARecalledShareDoesntComeBack) {
  have_share("s", 60);
  house.needs("b", 80);
  house.acquire("b");
  house.free(40);
  EXPECT_THAT(house.cancel(house.last_ticket()), IsEmpty());
  EXPECT_EQ(house.state("s"), InstanceState::draining);
  EXPECT_THAT(house.pass(Millis{30'000}), ElementsAre("stop s: recall"));
}

TEST_F(Lending, WhoLendsLessRecallsTheShare) {
  have_share("s", 60);
  Settings settings = CoreHarness::slots(1);
  settings.lend_share = 0.5;
  EXPECT_THAT(house.settings(settings), ElementsAre("recall s"));
}

TEST_F(Lending, MoreLentModelsThanMayBeDontRecallTheShare) {
  have_share("s", 10);
  lend("a", 10, 90);
  Settings settings = CoreHarness::slots(1);
  settings.lend_slots = 0;
  EXPECT_THAT(house.settings(settings), ElementsAre("stop a: recall"));
}

TEST_F(Lending, AnUnloadRecallsAShare) {
  have_share("s", 60);
  EXPECT_THAT(house.unload("s"), ElementsAre("recall s"));
}

TEST_F(Lending, AShareIsNobodysToPin) {
  have_share("s", 60);
  EXPECT_THAT(house.pin("s"), ElementsAre("reject 2: model_not_loaded"));
  EXPECT_TRUE(lent("s"));
}

TEST_F(Lending, AShareThatFailsEvictsNobodyAndIsntTriedAgain) {
  have("a", 10);
  const auto asked = ask_share("s", 40);
  house.free(90);
  EXPECT_THAT(house.fail("s", LoadFault::crashed), ElementsAre(fmt::format("reject {}: Input/output error", asked)));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
  ask_share("s", 40);
  house.fail("s", LoadFault::crashed);
  EXPECT_THAT(ask("s"), testing::Not(testing::Contains(HasSubstr("reject")))) << "whoever asks knows when";
}

TEST_F(Lending, AShareThatDiesLeavesTheMemoryAndMayComeAgain) {
  for (int i = 0; i < 4; ++i) {
    const auto lease = have_share("s", 60);
    house.died("s");
    EXPECT_EQ(house.state("s"), InstanceState::gone);
    EXPECT_THAT(house.finish(lease), IsEmpty());
    EXPECT_TRUE(house.snapshot().lent_memory.empty());
  }
}

TEST_F(Lending, AShareThatIsntReadyInTimeIsAborted) {
  house.needs("s", 40);
  house.model("s").load_deadline = Millis{10'000};
  const auto asked = ask_share("s", 40);
  house.free(100);
  EXPECT_THAT(house.pass(Millis{10'000}), ElementsAre("abort s: deadline"));
  EXPECT_THAT(house.stopped("s"), ElementsAre(fmt::format("reject {}: model_load_error", asked)));
}

TEST_F(Lending, TheOwnersLoadGoesBeforeAShareThatLoads) {
  const auto asked = ask_share("s", 40);
  house.free(100);
  house.needs("b", 10);
  EXPECT_THAT(house.acquire("b"), testing::Contains("abort s: yield"));
  EXPECT_EQ(house.error(asked).code, errc::not_here);
}

// ---- EndInstance

TEST_F(Lending, AInstanceIsEndedInTheMiddleOfRequests) {
  const auto lease = have_share("s", 60);
  EXPECT_THAT(house.end("s"), testing::Contains("stop s: unload"));
  EXPECT_THAT(house.finish(lease), IsEmpty());
  EXPECT_THAT(house.stopped("s"), ElementsAre("unloaded 2: s"));
  EXPECT_THAT(house.end("s"), ElementsAre("reject 3: model_not_loaded"));
}

TEST_F(Lending, AInstanceIsEndedWhileItLoads) {
  const auto asked = ask_share("s", 60);
  house.free(100);
  EXPECT_THAT(house.end("s"), ElementsAre(fmt::format("reject {}: not_here", asked), "abort s: cancelled"));
  EXPECT_THAT(house.stopped("s"), ElementsAre("unloaded 2: s"));
}

// Who cancels its load wants to know when the child is gone.
TEST_F(Lending, AnEndWaitsForAInstanceThatIsOnItsWayOut) {
  const auto asked = ask_share("s", 60);
  house.free(100);
  EXPECT_THAT(house.cancel(asked), ElementsAre("abort s: cancelled"));
  EXPECT_THAT(house.end("s"), IsEmpty());
  EXPECT_THAT(house.stopped("s"), ElementsAre("unloaded 2: s"));
}

TEST_F(Lending, ALoadThatWaitsIsEndedWithAllWhoWaitForIt) {
  house.acquire("a");
  house.model("g").once = true;
  house.acquire("g");
  house.model("g").joins_only = true;
  house.acquire("g");
  const InstanceId queued = house_state().queue.front()->id;
  EXPECT_THAT(house.send(EndInstance{house.ticket(), queued}),
              ElementsAre("reject 2: not_here", "reject 3: not_here", "unloaded 4: g"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a"));
}

// ---- once, joins_only

TEST_F(Lending, ALoadForAGroupThatFailsIsTheAnswerOfAllWhoWaitForItAndDrivesOutNobody) {
  house.settings(CoreHarness::slots(2));
  house.have_idle("a");
  house.model("g").once = true;
  house.acquire("g");
  house.model("g").once = false;
  house.model("g").joins_only = true;
  house.model("g").options = 7;
  house.acquire("g");
  EXPECT_THAT(house.fail("g", LoadFault::crashed),
              ElementsAre("reject 2: Input/output error", "reject 3: Input/output error"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
  EXPECT_EQ(house.state("g"), InstanceState::gone);
  EXPECT_TRUE(house.snapshot().failures.empty());
}

TEST_F(Lending, ALentLoadForAGroupThatFailsGivesItsOwnerNoLoadOfItsOwn) {
  house.needs("g", 40);
  house.model("g").once = true;
  ask("g");
  house.free(100);
  house.model("g").joins_only = true;
  house.acquire("g");
  EXPECT_THAT(house.fail("g"), ElementsAre("reject 1: Input/output error", "reject 2: Input/output error"));
  EXPECT_EQ(house.state("g"), InstanceState::gone);
}

TEST_F(Lending, WhoOnlyJoinsBeginsNoLoad) {
  house.model("g").joins_only = true;
  EXPECT_THAT(house.acquire("g"), ElementsAre("reject 1: not_here"));
  EXPECT_THAT(ask("g"), ElementsAre("reject 2: not_here"));
}

// The load for a peer that is to begin is the group's: it isn't given up for a request that wants just that.
TEST_F(Lending, WhoOnlyJoinsWaitsForTheGroupsLoadAndIsServedByIt) {
  house.needs("g", 40);
  house.model("g").once = true;
  ask("g");
  house.model("g").joins_only = true;
  EXPECT_THAT(house.acquire("g"), IsEmpty());
  EXPECT_THAT(house.free(100), ElementsAre("start g"));
  EXPECT_THAT(house.acquire("g"), IsEmpty());
  EXPECT_THAT(house.succeed("g"), ElementsAre("grant 1 on g", "grant 2 on g", "grant 3 on g"));
  EXPECT_THAT(house.acquire("g"), ElementsAre("grant 4 on g"));
}

TEST_F(Lending, WhoJoinedAGroupsLoadHearsThatItsFilesAreGone) {
  house.model("g").once = house.model("g").to_check = true;
  EXPECT_THAT(ask("g"), ElementsAre("check g"));
  house.model("g").joins_only = true;
  house.acquire("g");
  EXPECT_THAT(house.missing("g"), ElementsAre("reject 1: not_here", "reject 2: No such file or directory"));
}

TEST_F(Lending, AGroupsEngineThatDiesUnderRequestsIsNoReasonToLeaveTheModelAlone) {
  house.model("g").once = true;
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(house.acquire("g"), ElementsAre("start g"));
    house.succeed("g");
    house.died("g");
  }
}

}  // namespace
}  // namespace corral::residency
