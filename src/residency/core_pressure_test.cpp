// Memory that is short because of others on the machine: who gives up how much.
#include "residency/memory_fixture_for_tests.h"

namespace corral::residency {
namespace {

using Pressure = Memory;

TEST_F(Pressure, EvictsTheMostDisposableUntilItIsWellBelowTheThreshold) {
  have("a", 3, 0, kOn);
  have("b", 3, 0, kOn);
  have("c", 3, 0, kOn);
  house.pass(Millis{10'000});
  EXPECT_THAT(house.free(10), IsEmpty());
  EXPECT_THAT(house.free(9), ElementsAre("stop a: pressure", "stop b: pressure"));
}

TEST_F(Pressure, OfAnotherProgramMakesAModelGiveWayUntilThatProgramHasGone) {
  have("a", 20, 0, kOn);
  house.pass(Millis{10'000});
  EXPECT_THAT(house.free(80), IsEmpty());
  EXPECT_THAT(house.free(5), ElementsAre("stop a: pressure", "watch no more")) << "75 are somebody else's";
  house.stopped("a");
  EXPECT_THAT(house.acquire("a"), ElementsAre("sample"));
  EXPECT_THAT(house.free(100), ElementsAre("start a", "watch"));
}

TEST_F(Pressure, ProtectsWhatIsSlowToLoadAndWhatIsWeighted) {
  have("slow", 10, 0, kOn, Millis{3000});
  have("dear", 10, 0, {.auto_evict = true, .evict_weight_factor = 100});
  have("cheap", 10, 0, kOn);
  house.pass(Millis{10'000});
  EXPECT_THAT(house.free(9), ElementsAre("stop cheap: pressure"));
}

TEST_F(Pressure, DownsizesWhereThatIsEnough) {
  have("a", 30, 2, kOn);
  have("b", 30, 5, kOn);
  house.pass(Millis{10'000});
  EXPECT_THAT(house.free(9), ElementsAre("downsize a", "downsize b"));
}

TEST_F(Pressure, LeavesPinnedModelsAsTheyAreAndEvictsOthers) {
  have("a", 30, 20, kOn);
  have("b", 3, 0, kOn);
  house.pin("a");
  house.pass(Millis{10'000});
  EXPECT_THAT(house.free(5), ElementsAre("stop b: pressure"));
}

TEST_F(Pressure, SparesBusyModelsOnesThatDidNotOptInAndTheFirstSeconds) {
  have("off", 10, 0, kOff);
  have("busy", 10, 0, kOn);
  have("new", 10, 0, kOn);
  house.acquire("busy");
  house.pass(Millis{4999});
  EXPECT_THAT(house.free(1), IsEmpty());
  house.pass(Millis{1});
  EXPECT_THAT(house.free(1), ElementsAre("stop new: pressure"));
}

TEST_F(Pressure, ReckonsWithWhatIsOnItsWayBack) {
  have("a", 10, 0, kOn);
  have("b", 10, 0, kOn);
  house.pass(Millis{10'000});
  EXPECT_THAT(house.free(6), ElementsAre("stop a: pressure"));
  EXPECT_THAT(house.free(6), IsEmpty());
  house.stopped("a");
  EXPECT_THAT(house.free(6), IsEmpty());
  house.pass(Millis{5000});
  EXPECT_THAT(house.free(6), ElementsAre("stop b: pressure", "watch no more"));
}

TEST_F(Pressure, InOneMemoryLeavesModelsInAnotherAlone) {
  have("a", 10, 0, kOn);
  house.model("a").memory[0].pool = PoolId("ram");
  house.model("r").memory = {{PoolId("ram"), 50, 0}};
  house.model("r").eviction = kOn;
  house.acquire("r");
  house.free(100);
  house.succeed("r");
  house.finish(house.last_ticket());
  house.pass(Millis{10'000});
  EXPECT_THAT(both(50, 5), ElementsAre("stop r: pressure"));
  EXPECT_THAT(both(5, 55), ElementsAre("stop a: pressure", "watch no more"));
}

// What is missing of RAM can't be had; of the device, "b" alone gives enough, though "a" is the more disposable one.
TEST_F(Pressure, InAMemoryThatNobodyCanRelieveSendsNobodyMoreAwayFromAnother) {
  have("a", 3, 0, kOn);
  have("b", 30, 0, kOn);
  house.pass(Millis{10'000});
  EXPECT_THAT(both(5, 1), ElementsAre("stop b: pressure"));
}

TEST_F(Pressure, DownsizesWhereThatIsEnoughThoughAnotherMemoryCannotBeHad) {
  have("a", 30, 15, kOn);
  house.pass(Millis{10'000});
  EXPECT_THAT(both(5, 1), ElementsAre("downsize a"));
}

TEST_F(Pressure, AModelOfUnknownNeedsGoesAloneAndTheNextSampleTells) {
  house.model("x").eviction = kOn;
  house.model("y").eviction = kOn;
  house.have_idle("x");
  house.have_idle("y");
  house.pass(Millis{10'000});
  EXPECT_THAT(house.free(5), ElementsAre("stop x: pressure"));
  house.stopped("x");
  EXPECT_THAT(house.free(5), ElementsAre("stop y: pressure", "watch no more"));
}

}  // namespace
}  // namespace corral::residency
