// Pins and the NPU.
#include "residency/core_harness_for_tests.h"

namespace corral::residency {
namespace {

constexpr auto kExclusive = NpuPolicy::exclusive;
constexpr auto kCoexist = NpuPolicy::coexist;

TEST(Pins, APinnedModelIsNeverAVictim) {
  CoreHarness house(CoreHarness::slots(2));
  house.have_idle("a");
  house.have_idle("b");
  EXPECT_THAT(house.pin("a"), ElementsAre("pin a"));
  EXPECT_THAT(house.acquire("c"), ElementsAre("stop b: room"));
}

TEST(Pins, AllSlotsPinnedIsToldAtOnce) {
  CoreHarness house({}, {ModelName("a")});
  house.have_busy("a");
  EXPECT_THAT(house.acquire("b"), ElementsAre("reject 2: slots_pinned_error"));
  EXPECT_THAT(house.error(2).message, testing::HasSubstr("llm"));
}

TEST(Pins, APinThatTakesTheLastWayOutIsToldToThoseWhoWait) {
  CoreHarness house;
  house.have_busy("a");
  house.acquire("b");
  house.pass(Millis{2000});
  EXPECT_THAT(house.pin("a"), ElementsAre("pin a", "reject 2: slots_pinned_error"));
  EXPECT_EQ(house.state("a"), InstanceState::in_use);
}

TEST(Pins, UnpinningLetsTheNextLoadIn) {
  CoreHarness house({}, {ModelName("a")});
  house.have_idle("a");
  EXPECT_THAT(house.pin("a", false), ElementsAre("unpin a"));
  EXPECT_THAT(house.acquire("b"), ElementsAre("stop a: room"));
}

TEST(Pins, CanBeAskedForByALoadAndAreKeptByLaterOnes) {
  CoreHarness house;
  house.load("a", 0, true);
  EXPECT_THAT(house.succeed("a"), ElementsAre("pin a", "loaded 1 a"));
  EXPECT_THAT(house.load("a"), ElementsAre("resident 2 a"));
  EXPECT_EQ(house.snapshot().pinned[index_of(ModelType::llm)], 1U);
  EXPECT_THAT(house.load("a", 0, false), ElementsAre("resident 3 a", "unpin a"));
}

TEST(Pins, AreIdempotentAndOnlyForLoadedModels) {
  CoreHarness house;
  EXPECT_THAT(house.pin("a"), ElementsAre("reject 1: model_not_loaded"));
  house.have_idle("a");
  EXPECT_THAT(house.pin("a"), ElementsAre("pin a"));
  EXPECT_THAT(house.pin("a"), ElementsAre("pin a"));
}

TEST(Pins, APinOfAModelThatIsNotLoadedCanBeTakenOff) {
  CoreHarness house({}, {ModelName("a")});
  EXPECT_THAT(house.pin("a"), ElementsAre("reject 1: model_not_loaded"));
  EXPECT_THAT(house.pin("a", false), ElementsAre("unpin a"));
  EXPECT_THAT(house.pin("a", false), ElementsAre("reject 3: model_not_loaded"));
  house.have_idle("a");
  EXPECT_THAT(house.acquire("b"), ElementsAre("stop a: room"));
}

TEST(Pins, APinOfALoadThatWaitsCanBeTakenOff) {
  CoreHarness house({}, {ModelName("b")});
  house.have_busy("a");
  EXPECT_THAT(house.load("b", 0, true), IsEmpty());
  EXPECT_THAT(house.pin("b", false), ElementsAre("unpin b"));
  house.finish(1);
  EXPECT_THAT(house.stopped("a"), ElementsAre("start b"));
  EXPECT_THAT(house.succeed("b"), ElementsAre(testing::StartsWith("loaded")));
}

TEST(Pins, ALoweredLimitSparesPinnedModels) {
  CoreHarness house(CoreHarness::slots(2), {ModelName("a")});
  house.have_idle("a");
  house.have_idle("b");
  EXPECT_THAT(house.settings(CoreHarness::slots(1)), ElementsAre("stop b: limit"));
}

TEST(Pins, TheNewestWishWinsOverThatOfALoadThatHasNotEnded) {
  CoreHarness house;
  EXPECT_THAT(house.load("a", 0, true), ElementsAre("start a"));
  EXPECT_THAT(house.pin("a", false), ElementsAre("unpin a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("loaded 1 a"));
  house.acquire("a");
  EXPECT_THAT(house.load("a", 1, false), IsEmpty());  // a reload, for which its request has to end
  EXPECT_THAT(house.pin("a"), ElementsAre("pin a"));
  EXPECT_THAT(house.finish(3), ElementsAre("stop a: reload"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("start a"));
  EXPECT_THAT(house.succeed("a"), ElementsAre("loaded 4 a"));
}

TEST(Npu, AnExclusiveNewcomerEvictsEveryHolder) {
  CoreHarness house(CoreHarness::slots(5));
  house.npu("chat", "flm", kCoexist, ModelType::llm);
  house.npu("ears", "flm", kCoexist, ModelType::transcription);
  house.npu("whole", "ryzenai-llm", kExclusive, ModelType::llm);
  house.have_idle("gpu");
  house.have_idle("chat");
  EXPECT_THAT(house.acquire("ears"), ElementsAre("start ears"));
  house.succeed("ears");
  house.finish(house.last_ticket());
  EXPECT_THAT(house.acquire("whole"), ElementsAre("stop chat: npu", "stop ears: npu"));
}

TEST(Npu, ACoexistingNewcomerEvictsOtherRecipesAndItsOwnType) {
  CoreHarness house(CoreHarness::slots(5));
  house.npu("chat", "flm", kCoexist, ModelType::llm);
  house.npu("chat2", "flm", kCoexist, ModelType::llm);
  house.npu("ears", "whispercpp", kExclusive, ModelType::transcription);
  house.have_idle("ears");
  EXPECT_THAT(house.acquire("chat"), ElementsAre("stop ears: npu"));
  house.stopped("ears");
  house.succeed("chat");
  house.finish(2);
  EXPECT_THAT(house.acquire("chat2"), ElementsAre("stop chat: npu"));
}

TEST(Npu, TheEffectiveDeviceDecides) {
  CoreHarness house(CoreHarness::slots(5));
  house.npu("ears", "whispercpp", kExclusive, ModelType::transcription);
  house.model("ears").device = Device::cpu;
  house.npu("whole", "ryzenai-llm", kExclusive, ModelType::llm);
  house.have_idle("ears");
  EXPECT_THAT(house.acquire("whole"), ElementsAre("start whole"));
}

TEST(Npu, APinnedHolderIsToldAtOnce) {
  CoreHarness house(CoreHarness::slots(5), {ModelName("whole")});
  house.npu("whole", "ryzenai-llm", kExclusive, ModelType::llm);
  house.npu("chat", "flm", kCoexist, ModelType::embedding);
  house.have_idle("whole");
  EXPECT_THAT(house.acquire("chat"), ElementsAre("reject 2: slots_pinned_error"));
  EXPECT_THAT(house.error(2).message, testing::HasSubstr("'whole'"));
}

TEST(Npu, ALoadOfAnotherTypeOnTheGpuPassesOneThatWaitsForTheNpu) {
  CoreHarness house;
  house.npu("whole", "ryzenai-llm", kExclusive, ModelType::llm);
  house.npu("ears", "whispercpp", kExclusive, ModelType::transcription);
  house.npu("chat", "flm", kCoexist, ModelType::embedding);
  house.model("pictures", ModelType::image);
  house.have_busy("ears");
  EXPECT_THAT(house.acquire("whole"), IsEmpty());
  EXPECT_THAT(house.acquire("chat"), IsEmpty());
  EXPECT_THAT(house.acquire("pictures"), ElementsAre("start pictures"));
}

}  // namespace
}  // namespace corral::residency
