// The load queue: serial, first come first served, coalesced, cancellable; draining and patience; who may pass whom.
#include "residency/core_harness_for_tests.h"

namespace corral::residency {
namespace {

TEST(Queue, OneLoadAtATimeInOrder) {
  CoreHarness house(CoreHarness::slots(5));
  EXPECT_THAT(house.acquire("a"), ElementsAre("start a"));
  EXPECT_THAT(house.acquire("b"), IsEmpty());
  EXPECT_THAT(house.acquire("c"), IsEmpty());
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a", "start b"));
  EXPECT_THAT(house.succeed("b"), ElementsAre("grant 2 on b", "start c"));
}

TEST(Queue, RequestsForOneModelShareOneLoad) {
  CoreHarness house;
  house.acquire("a");
  house.acquire("a");
  house.acquire("b");
  house.acquire("b");
  EXPECT_THAT(house.snapshot().queue, SizeIs(1));
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a", "grant 2 on a"));
}

TEST(Queue, ResidentModelsAreServedWhileAnotherLoads) {
  CoreHarness house(CoreHarness::slots(2));
  house.have_idle("a");
  house.acquire("b");
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 3 on a"));
}

TEST(Queue, IsVisible) {
  CoreHarness house;
  house.have_busy("a");
  house.acquire("b");
  house.pass(Millis{30});
  house.acquire("c");
  house.acquire("c");
  const Snapshot snapshot = house.snapshot();
  ASSERT_THAT(snapshot.queue, SizeIs(2));
  EXPECT_EQ(snapshot.queue[0].model, ModelName("b"));
  EXPECT_EQ(snapshot.queue[0].position, 1U);
  EXPECT_EQ(snapshot.queue[0].waiting, Millis{30});
  EXPECT_THAT(snapshot.queue[0].waiting_for, ElementsAre(ModelName("a")));
  EXPECT_EQ(snapshot.queue[1].position, 2U);
  EXPECT_EQ(snapshot.queue[1].waiters, 2U);
}

TEST(Queue, TheDecisionIsMadeWhenTheLoadsTurnComes) {
  CoreHarness house(CoreHarness::slots(2));
  house.model("e", ModelType::embedding);
  house.have_idle("a");
  house.have_idle("b");
  house.acquire("e");  // loads meanwhile
  house.acquire("c");  // now a would be the victim
  house.acquire("a");
  house.finish(house.last_ticket());
  EXPECT_THAT(house.succeed("e"), ElementsAre("grant 3 on e", "stop b: room"));
}

TEST(Queue, ALoadWithoutWaitersIsDropped) {
  CoreHarness house(CoreHarness::slots(3));
  house.acquire("a");
  house.acquire("b");
  house.acquire("c");
  EXPECT_THAT(house.cancel(2), IsEmpty());
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a", "start c"));
}

TEST(Queue, ARunningLoadIsAbortedWhenItsLastWaiterGoes) {
  CoreHarness house(CoreHarness::slots(3));
  house.acquire("a");
  house.acquire("a");
  house.acquire("b");
  EXPECT_THAT(house.cancel(1), IsEmpty());
  EXPECT_THAT(house.cancel(2), ElementsAre("abort a: cancelled"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("start b"));
}

TEST(Queue, AnAbortedLoadThatSucceedsAnywayIsStillStopped) {
  CoreHarness house;
  house.acquire("a");
  house.cancel(1);
  EXPECT_THAT(house.succeed("a"), IsEmpty());
  EXPECT_THAT(house.acquire("a"), IsEmpty());
  EXPECT_THAT(house.stopped("a"), ElementsAre("start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("grant 2 on a"));
}

TEST(Queue, ALoadWaitsForBusyInstancesAndTakesTheFirstThatIsIdle) {
  CoreHarness house(CoreHarness::slots(2));
  const auto a = house.have_busy("a");
  const auto b = house.have_busy("b");
  EXPECT_THAT(house.acquire("c"), IsEmpty());
  EXPECT_THAT(house.finish(b), ElementsAre("stop b: room"));
  EXPECT_THAT(house.stopped("b"), ElementsAre("start c"));
  EXPECT_THAT(house.finish(a), IsEmpty());
}

TEST(Patience, ABusyVictimTakesNewcomersForAWhileThenDrains) {
  CoreHarness house;
  const auto a = house.have_busy("a");
  house.acquire("b");
  EXPECT_EQ(house.wake_in(), Millis{2000});
  house.pass(Millis{1999});
  EXPECT_THAT(house.acquire("a"), ElementsAre("grant 3 on a"));
  EXPECT_THAT(house.pass(Millis{1}), IsEmpty());
  EXPECT_EQ(house.state("a"), InstanceState::draining);
  EXPECT_THAT(house.acquire("a"), IsEmpty());
  EXPECT_THAT(house.finish(a), IsEmpty());
  EXPECT_THAT(house.finish(3), ElementsAre("stop a: room"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("start b"));
  EXPECT_THAT(house.succeed("b"), ElementsAre("grant 2 on b"));
  EXPECT_THAT(house.finish(2), ElementsAre("stop b: room"));  // a's newcomer queued behind b
}

TEST(Patience, RunsFromTheMomentTheLoadsTurnHasCome) {
  CoreHarness house(CoreHarness::slots(2));
  house.model("e", ModelType::embedding);
  house.have_busy("a");
  house.have_busy("b");
  house.acquire("e");
  house.acquire("c");
  house.pass(Millis{5000});
  house.succeed("e");
  EXPECT_EQ(house.wake_in(), Millis{2000});
  EXPECT_EQ(house.state("a"), InstanceState::in_use);
}

TEST(Patience, ADrainingInstanceComesBackWhenTheLoadIsCancelled) {
  CoreHarness house;
  house.have_busy("a");
  house.acquire("b");
  house.pass(Millis{2000});
  EXPECT_THAT(house.acquire("a"), IsEmpty());
  EXPECT_THAT(house.cancel(2), ElementsAre("grant 3 on a"));
  EXPECT_EQ(house.state("a"), InstanceState::in_use);
  EXPECT_THAT(house.snapshot().queue, IsEmpty());
}

TEST(Patience, ADrainingInstanceComesBackWhenAnotherBecomesIdleFirst) {
  CoreHarness house(CoreHarness::slots(2));
  house.have_busy("a");
  const auto b = house.have_busy("b");
  house.acquire("c");
  house.pass(Millis{2000});
  EXPECT_EQ(house.state("a"), InstanceState::draining);
  EXPECT_EQ(house.state("b"), InstanceState::in_use);
  house.acquire("a");
  EXPECT_THAT(house.finish(b), ElementsAre("grant 4 on a", "stop b: room"));
}

TEST(Patience, ZeroDrainsAtOnce) {
  CoreHarness house(Settings{.swap_patience = Millis{0}});
  house.have_busy("a");
  house.acquire("b");
  EXPECT_EQ(house.state("a"), InstanceState::draining);
}

TEST(Passing, ALoadOfAnotherTypePassesOneThatWaitsForABusyVictim) {
  CoreHarness house;
  house.model("e", ModelType::embedding);
  house.have_busy("a");
  house.acquire("b");
  EXPECT_THAT(house.acquire("e"), ElementsAre("start e"));
}

TEST(Passing, NotTwoLoadsAtOnce) {
  CoreHarness house;
  house.model("e", ModelType::embedding);
  const auto a = house.have_busy("a");
  house.acquire("b");
  house.acquire("e");
  house.finish(a);
  EXPECT_EQ(house.state("a"), InstanceState::ready);  // the decision waits for the turn
  EXPECT_THAT(house.succeed("e"), ElementsAre("grant 3 on e", "stop a: room"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("start b"));
}

TEST(Passing, AVictimThatDrainsIsStoppedEvenWhileAnotherLoads) {
  CoreHarness house;
  house.model("e", ModelType::embedding);
  const auto a = house.have_busy("a");
  house.acquire("b");
  house.pass(Millis{2000});
  house.acquire("e");
  EXPECT_THAT(house.finish(a), ElementsAre("stop a: room"));
  EXPECT_THAT(house.stopped("a"), IsEmpty());
  EXPECT_THAT(house.succeed("e"), ElementsAre("grant 3 on e", "start b"));
}

TEST(Passing, NobodyPassesALoadWhoseVictimOnlyHasToStop) {
  CoreHarness house;
  house.model("e", ModelType::embedding);
  house.have_idle("a");
  EXPECT_THAT(house.acquire("b"), ElementsAre("stop a: room"));
  EXPECT_THAT(house.acquire("e"), IsEmpty());
  EXPECT_THAT(house.stopped("a"), ElementsAre("start b"));
  EXPECT_THAT(house.succeed("b"), ElementsAre("grant 2 on b", "start e"));
}

TEST(Passing, AVictimThatIsSlowToStopIsLikeABusyOne) {
  CoreHarness house;
  house.model("e", ModelType::embedding);
  house.have_idle("a");
  house.acquire("b");
  house.acquire("e");
  EXPECT_EQ(house.wake_in(), Millis{500});
  EXPECT_THAT(house.pass(Millis{500}), ElementsAre("start e"));
}

TEST(Passing, ALoadOfTheSameTypeDoesNotTakeTheSlotOfTheOneAhead) {
  CoreHarness house;
  const auto a = house.have_busy("a");
  house.acquire("b");
  house.acquire("c");
  EXPECT_THAT(house.finish(a), ElementsAre("stop a: room"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("start b"));
}

TEST(Passing, AnIdleVictimOfAnotherTypeDoesNotHoldALoadBack) {
  CoreHarness house;
  house.model("e", ModelType::embedding);
  house.model("f", ModelType::embedding);
  house.have_idle("e");
  house.have_busy("a");
  house.acquire("b");
  EXPECT_THAT(house.acquire("f"), ElementsAre("stop e: room"));
  EXPECT_THAT(house.stopped("e"), ElementsAre("start f"));
}

}  // namespace
}  // namespace corral::residency
