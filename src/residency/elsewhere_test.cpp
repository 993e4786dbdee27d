// Models that run elsewhere: they take nothing here, and no automatic decision has them leave.
#include "residency/core_harness_for_tests.h"

namespace corral::residency {
namespace {

CoreHarness with_far() {
  CoreHarness house(CoreHarness::slots(1));
  house.model("far").device = Device::none;
  return house;
}

TEST(Elsewhere, TakesNoSlotAndIsNobodysVictim) {
  CoreHarness house = with_far();
  house.have_idle("far");
  EXPECT_THAT(house.acquire("a"), ElementsAre("start a"));
  house.succeed("a");
  house.finish(house.last_ticket());
  house.acquire("b");
  EXPECT_EQ(house.state("a"), InstanceState::evicting);
  EXPECT_EQ(house.state("far"), InstanceState::ready);
  EXPECT_EQ(house.snapshot().taken[index_of(ModelType::llm)], 1u);
}

TEST(Elsewhere, NeedsNoSlotWhereAllAreTaken) {
  CoreHarness house = with_far();
  house.have_idle("a");
  house.pin("a");
  EXPECT_THAT(house.acquire("far"), ElementsAre("start far"));
  house.succeed("far");
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

TEST(Elsewhere, StaysWhenALoadIsTriedAgainWithAllMemoryFree) {
  CoreHarness house = with_far();
  house.have_idle("far");
  house.model("b", ModelType::embedding);
  house.have_idle("b");
  house.acquire("a");
  house.fail("a");
  EXPECT_EQ(house.state("far"), InstanceState::ready);
  EXPECT_EQ(house.state("b"), InstanceState::evicting);
}

TEST(Elsewhere, LeavesWhenItIsToldAndWhenTheInstanceStops) {
  CoreHarness house = with_far();
  house.have_idle("far");
  house.unload("far");
  EXPECT_EQ(house.state("far"), InstanceState::evicting);
  house.stopped("far");
  EXPECT_EQ(house.state("far"), InstanceState::gone);
  EXPECT_EQ(house.snapshot().taken[index_of(ModelType::llm)], 0u);
}

TEST(Elsewhere, IdlenessAndLowerLimitsDontConcernIt) {
  CoreHarness house = with_far();
  house.model("far").eviction = {.auto_evict = true, .evict_idle_timeout = Millis{10}};
  house.have_idle("far");
  house.pass(Millis{1000});
  house.settings(CoreHarness::slots(1));
  house.have_idle("a");
  EXPECT_EQ(house.state("far"), InstanceState::ready);
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

}  // namespace
}  // namespace corral::residency
