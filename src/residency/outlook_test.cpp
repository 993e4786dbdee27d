// What the outlook shows is what the core then does.
#include "residency/outlook.h"

#include "residency/core_harness_for_tests.h"
#include "residency/memory_fixture_for_tests.h"

namespace corral::residency {
namespace {

constexpr Millis kMinute{60'000};

const InstanceView& view_of(const Snapshot& snapshot, const std::string& name) {
  for (const auto& view : snapshot.instances)
    if (view.spec->name.value() == name) return view;
  throw std::out_of_range(name);
}
IdleOutlook idle_next(const CoreHarness& house, const std::string& name) {
  return view_of(house.snapshot(), name).idle_next;
}
std::string next_text(CoreHarness& house, const NextReclaim& next) {
  if (next.obstacle != Obstacle::none) return name_of(next.obstacle);
  if (!next.instance) return "none";
  const auto& name = house.core().state().find(*next.instance)->spec->name.value();
  return fmt::format("{} {}: {}", next.downsize ? "downsize" : "evict", name, name_of(next.reason));
}
std::string next_llm(CoreHarness& house) {
  return next_text(house, house.core().outlook(house.now()).slots[index_of(ModelType::llm)].next);
}
std::string next_of_gpu(CoreHarness& house) {
  const auto all = house.core().outlook(house.now());
  for (const auto& pool : all.pools)
    if (pool.pool == PoolId("gpu0")) return next_text(house, pool.next);
  return "no pool";
}

// ---- idleness

TEST(IdleOutlook, CountsDownToTheDownsizeAndToTheEviction) {
  CoreHarness house{CoreHarness::slots(3)};
  house.needs("a", 10, 4).eviction = kOn;
  house.acquire("a");
  house.free(100);
  house.succeed("a");
  house.finish(house.last_ticket());
  house.pass(Millis{10'000});
  const auto next = idle_next(house, "a");
  EXPECT_EQ(next.stay, Stay::none);
  ASSERT_TRUE(next.downsize_in && next.evict_in);
  const auto wake = house.wake_in();
  EXPECT_EQ(next.downsize_in, wake) << "the core wakes up for the first of them";
  EXPECT_EQ(*next.evict_in - *next.downsize_in, 4 * kMinute);

  EXPECT_THAT(house.pass(*wake), ElementsAre("downsize a"));
  house.downsized("a");
  const auto later = idle_next(house, "a");
  EXPECT_EQ(later.downsize_in, std::nullopt);
  EXPECT_EQ(later.evict_in, 4 * kMinute);
}

TEST(IdleOutlook, SaysWhyAnInstanceStays) {
  CoreHarness house{CoreHarness::slots(5)};
  for (const char* name : {"pinned", "busy"}) house.model(name).eviction = kOn;
  house.model("other").device = Device::none;
  house.have_idle("pinned");
  house.pin("pinned");
  house.have_busy("busy");
  house.have_idle("off");
  house.have_idle("other");
  EXPECT_EQ(idle_next(house, "pinned").stay, Stay::pinned);
  EXPECT_EQ(idle_next(house, "busy").stay, Stay::in_use);
  EXPECT_EQ(idle_next(house, "off").stay, Stay::auto_evict_off);
  EXPECT_EQ(idle_next(house, "other").stay, Stay::external);
  for (const char* name : {"pinned", "busy", "off", "other"}) {
    EXPECT_EQ(idle_next(house, name).downsize_in, std::nullopt) << name;
    EXPECT_EQ(idle_next(house, name).evict_in, std::nullopt) << name;
  }
  house.unload("off");
  EXPECT_EQ(idle_next(house, "off").stay, Stay::leaving);
}

TEST(IdleOutlook, ANegativeTimeoutNeverEnds) {
  CoreHarness house{CoreHarness::slots(1)};
  house.model("a").eviction = {
      .auto_evict = true, .downsize_idle_timeout = Millis{-1}, .evict_idle_timeout = Millis{-1}};
  house.have_idle("a");
  const auto next = idle_next(house, "a");
  EXPECT_EQ(next.stay, Stay::none);
  EXPECT_EQ(next.downsize_in, std::nullopt);
  EXPECT_EQ(next.evict_in, std::nullopt);
}

TEST(IdleOutlook, ATimeoutBelowTheFloorLastsAsLongAsTheFloor) {
  CoreHarness house{CoreHarness::slots(1)};
  house.model("a").eviction = {
      .auto_evict = true, .downsize_idle_timeout = Millis{-1}, .evict_idle_timeout = Millis{0}};
  house.finish(house.have_busy("a"));
  EXPECT_EQ(idle_next(house, "a").evict_in, Settings{}.idle_floor);
}

// ---- slots

TEST(SlotOutlook, NoneIsEvictedWhileASlotIsFree) {
  CoreHarness house{CoreHarness::slots(2)};
  EXPECT_EQ(next_llm(house), "none");
  house.have_idle("a");
  EXPECT_EQ(next_llm(house), "none");
  const auto slots = house.core().outlook(house.now()).slots;
  EXPECT_THAT(slots, SizeIs(kModelTypeCount));
  EXPECT_EQ(slots[index_of(ModelType::llm)].taken, 1u);
  EXPECT_EQ(slots[index_of(ModelType::llm)].limit, 2);
}

TEST(SlotOutlook, TheLeastRecentlyUsedIdleOneIsNextAndThenReallyGoes) {
  CoreHarness house{CoreHarness::slots(2)};
  house.have_idle("a");
  house.have_idle("b");
  EXPECT_EQ(next_llm(house), "evict a: room");
  EXPECT_THAT(house.acquire("c"), ElementsAre("stop a: room"));
}

TEST(SlotOutlook, PinnedOnesAreNoVictimsAndAllOfThemAreAnObstacle) {
  CoreHarness house{CoreHarness::slots(2)};
  house.have_idle("a");
  house.have_idle("b");
  house.pin("a");
  EXPECT_EQ(next_llm(house), "evict b: room");
  house.pin("b");
  EXPECT_EQ(next_llm(house), "pinned");
}

TEST(SlotOutlook, ABusyOneIsNextOnlyIfNoneIsIdle) {
  CoreHarness house{CoreHarness::slots(2)};
  house.have_busy("a");
  house.have_idle("b");
  EXPECT_EQ(next_llm(house), "evict b: room");
  house.acquire("b");
  EXPECT_EQ(next_llm(house), "evict a: room");
}

// ---- memory

using PoolOutlookTest = Memory;

TEST_F(PoolOutlookTest, NoneIsReclaimedFromAnEmptyPool) {
  house.free(100);
  EXPECT_EQ(next_of_gpu(house), "none");
}

TEST_F(PoolOutlookTest, DownsizingComesBeforeEvicting) {
  have("a", 40, 10, kOn);
  house.free(60);
  EXPECT_EQ(next_of_gpu(house), "downsize a: memory");
}

TEST_F(PoolOutlookTest, OfIdleModelsTheOneWithTheHighestScoreIsNext) {
  have("slow", 20, 0, kOff, Millis{1000});
  have("fast", 20, 0, kOff, Millis{10});
  house.pass(Millis{60'000});
  house.free(60);
  EXPECT_EQ(next_of_gpu(house), "evict fast: memory");
  EXPECT_GT(view_of(house.snapshot(), "fast").score, view_of(house.snapshot(), "slow").score);
}

TEST_F(PoolOutlookTest, PinnedModelsAndOtherProgramsAreObstacles) {
  house.free(10);
  house.pass(Millis{60'000});  // by an old sample
  EXPECT_EQ(next_of_gpu(house), "other_programs");
  house.free(100);
  have("a", 40, 0, kOff);
  house.pin("a");
  house.free(60);
  house.pass(Millis{60'000});
  EXPECT_EQ(next_of_gpu(house), "pinned");
}

TEST_F(PoolOutlookTest, ChangesNothing) {
  have("a", 40, 10, kOn);
  house.free(60);
  const auto before = house.snapshot();
  house.core().outlook(house.now());
  EXPECT_EQ(house.snapshot().revision, before.revision);
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

}  // namespace
}  // namespace corral::residency
