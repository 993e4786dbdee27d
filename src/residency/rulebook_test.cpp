// Rules of docs/residency-rules.md that no other test states by itself: whole situations rather than single moves.
#include <array>

#include "base/recipe_table.h"
#include "residency/core_harness_for_tests.h"
#include "residency/errors.h"
#include "residency/npu_rule.h"

namespace corral::residency {
namespace {

// A model of this type under a name that says which one it is: "embedding1".
std::string nth(CoreHarness& house, ModelType type, int number) {
  const auto name = fmt::format("{}{}", name_of(type), number);
  house.model(name, type);
  return name;
}

WallTime last_use(CoreHarness& house, const std::string& name) {
  return house.core().state().find(ModelName(name))->current->last_use_wall;
}

// ---- slots and the order of use

TEST(Rulebook, LoadsAndRequestsCountAsUseWhenTheyStartAndWhenTheyEnd) {
  CoreHarness house;
  house.acquire("a");
  const WallTime load_starts = last_use(house, "a");
  EXPECT_EQ(load_starts, house.now().wall);
  house.pass(Millis{10});
  house.succeed("a");
  EXPECT_EQ(last_use(house, "a"), load_starts + Millis{10});
  house.pass(Millis{10});
  house.finish(1);
  EXPECT_EQ(last_use(house, "a"), load_starts + Millis{20});
  house.pass(Millis{10});
  house.acquire("a");
  EXPECT_EQ(last_use(house, "a"), load_starts + Millis{30});
  house.pass(Millis{10});
  EXPECT_EQ(last_use(house, "a"), load_starts + Millis{30});  // while it runs nothing moves
  house.finish(2);
  EXPECT_EQ(last_use(house, "a"), load_starts + Millis{40});
}

TEST(Rulebook, TheEndOfALoadThatNobodyAsksAnythingCountsAsUse) {
  CoreHarness house;
  house.load("a");
  house.pass(Millis{10});
  house.succeed("a");
  EXPECT_EQ(last_use(house, "a"), house.now().wall);
}

TEST(Rulebook, OneNumberOfSlotsHoldsForEveryType) {
  CoreHarness house({.limits = *parse_max_loaded_models("3")});
  for (ModelType type : kModelTypes) {
    for (int i = 1; i <= 3; ++i) house.have_idle(nth(house, type, i));
  }
  EXPECT_THAT(house.snapshot().instances, SizeIs(3 * kModelTypeCount));
  for (ModelType type : kModelTypes) {
    const auto oldest = nth(house, type, 1);
    const auto newcomer = nth(house, type, 4);
    EXPECT_THAT(house.acquire(newcomer), ElementsAre(fmt::format("stop {}: room", oldest)));
    house.stopped(oldest);
    house.succeed(newcomer);
  }
}

TEST(Rulebook, SeveralNumbersAreForLlmEmbeddingAndReranking) {
  CoreHarness house({.limits = *parse_max_loaded_models("5 2 4")});
  const std::pair<ModelType, int> rows[] = {{ModelType::llm, 5},       {ModelType::embedding, 2},
                                            {ModelType::reranking, 4}, {ModelType::transcription, 1},
                                            {ModelType::image, 1},     {ModelType::tts, 1}};
  for (const auto& [type, slots] : rows) {
    for (int i = 1; i <= slots; ++i) house.have_idle(nth(house, type, i));
    EXPECT_EQ(house.snapshot().taken[index_of(type)], static_cast<std::size_t>(slots));
  }
  for (const auto& [type, slots] : rows) {
    const auto oldest = nth(house, type, 1);
    const auto newcomer = nth(house, type, slots + 1);
    EXPECT_THAT(house.acquire(newcomer), ElementsAre(fmt::format("stop {}: room", oldest)));
    house.stopped(oldest);
    house.succeed(newcomer);
  }
}

TEST(Rulebook, EachTypeHasAnOrderOfItsOwn) {
  CoreHarness house(CoreHarness::slots(2));
  const auto oldest = nth(house, ModelType::embedding, 1);
  house.have_idle(oldest);
  house.have_idle("a");
  house.have_idle("b");
  EXPECT_THAT(house.acquire("c"), ElementsAre("stop a: room"));
  EXPECT_EQ(house.state(oldest), InstanceState::ready);
}

TEST(Rulebook, CpuAndGpuHaveNoLimitOfTheirOwn) {
  CoreHarness house(CoreHarness::slots(kUnlimited));
  for (int i = 0; i < 20; ++i) {
    const auto name = fmt::format("m{}", i);
    house.model(name).device = i % 2 == 0 ? Device::cpu : Device::gpu;
    house.have_idle(name);
  }
  house.npu("whole", "ryzenai-llm", NpuPolicy::exclusive, ModelType::llm);
  EXPECT_THAT(house.acquire("whole"), ElementsAre("start whole"));
}

// ---- the queue

TEST(Rulebook, ALoadWaitsForBusyModelsHoweverLongTheyTake) {
  CoreHarness house;
  const auto a = house.have_busy("a");
  house.acquire("b");
  for (int hour = 0; hour < 24 * 7; ++hour) EXPECT_THAT(house.pass(std::chrono::hours(1)), IsEmpty());
  EXPECT_EQ(house.state("a"), InstanceState::draining);
  EXPECT_EQ(house.state("b"), InstanceState::queued);
  EXPECT_THAT(house.finish(a), ElementsAre("stop a: room"));
  EXPECT_THAT(house.stopped("a"), ElementsAre("start b"));
}

TEST(Rulebook, LoadsOfDifferentTypesTakeTurnsToo) {
  CoreHarness house;
  for (ModelType type : kModelTypes) house.acquire(nth(house, type, 1));
  std::size_t left = kModelTypeCount;
  for (ModelType type : kModelTypes) {
    EXPECT_EQ(house.snapshot().loading->spec->type, type);
    EXPECT_THAT(house.snapshot().queue, SizeIs(--left));
    house.succeed(nth(house, type, 1));
  }
}

TEST(Rulebook, ASlotThatBecameFreeWhileALoadWaitedCostsNobodyItsPlace) {
  CoreHarness house(CoreHarness::slots(2));
  const auto embedding = nth(house, ModelType::embedding, 1);
  house.have_idle("a");
  house.have_idle("b");
  house.acquire(embedding);
  EXPECT_THAT(house.acquire("c"), IsEmpty());  // all slots are taken when it enters the queue
  house.died("b");
  EXPECT_THAT(house.succeed(embedding), ElementsAre("grant 3 on " + embedding, "start c"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

// ---- failed loads

TEST(Rulebook, ALoadThatFailsInASlotItTookDrivesOutTheRestToo) {
  CoreHarness house;
  const auto embedding = nth(house, ModelType::embedding, 1);
  house.have_idle(embedding);
  house.have_idle("a");
  house.acquire("b");
  EXPECT_THAT(house.stopped("a"), ElementsAre("start b"));
  EXPECT_THAT(house.fail("b", LoadFault::out_of_memory), ElementsAre(fmt::format("stop {}: evict_all", embedding)));
  EXPECT_THAT(house.stopped(embedding), ElementsAre("start again b"));
}

// ---- the NPU

struct NpuModel {
  const char* name;
  const char* recipe;
  Device device;
  ModelType type;
};
constexpr std::array kNpuModels{
    NpuModel{"flm", "flm", Device::npu, ModelType::llm},
    NpuModel{"ryzen", "ryzenai-llm", Device::npu, ModelType::llm},
    NpuModel{"whisper", "whispercpp", Device::npu, ModelType::transcription},
    NpuModel{"oga", "oga-npu", Device::npu, ModelType::llm},
    NpuModel{"hybrid", "oga-hybrid", Device::gpu | Device::npu, ModelType::llm},
};

void settle_in(CoreHarness& house, const NpuModel& npu) {
  house.npu(npu.name, npu.recipe, RecipeTable().npu_use(npu.recipe, npu.device), npu.type);
  house.model(npu.name).device = npu.device;
}

// Whoever comes second, whatever the types, and though slots are free.
TEST(Rulebook, BackendsOfTheNpuDriveEachOtherOut) {
  for (const NpuModel& first : kNpuModels) {
    for (const NpuModel& second : kNpuModels) {
      if (&first == &second) continue;
      CoreHarness house(CoreHarness::slots(kUnlimited));
      settle_in(house, first);
      settle_in(house, second);
      house.have_idle(first.name);
      EXPECT_THAT(house.acquire(second.name), ElementsAre(fmt::format("stop {}: npu", first.name)));
      EXPECT_THAT(house.stopped(first.name), ElementsAre(fmt::format("start {}", second.name)));
    }
  }
}

TEST(Rulebook, FlmHoldsOneLlmOneTranscriptionAndOneEmbeddingTogether) {
  CoreHarness house(CoreHarness::slots(kUnlimited));
  const ModelType types[] = {ModelType::llm, ModelType::transcription, ModelType::embedding};
  const auto flm = [&](ModelType type, int number) {
    const auto name = fmt::format("{}{}", name_of(type), number);
    house.npu(name, "flm", RecipeTable().npu_use("flm", Device::npu), type);
    return name;
  };
  for (ModelType type : types) house.have_idle(flm(type, 1));
  EXPECT_THAT(house.snapshot().instances, SizeIs(3));
  for (ModelType type : types) {
    const auto first = flm(type, 1);
    const auto second = flm(type, 2);
    EXPECT_THAT(house.acquire(second), ElementsAre(fmt::format("stop {}: npu", first)));
    house.stopped(first);
    house.succeed(second);
  }
}

// No other recipe shares the NPU today; if one comes, it shares with itself only.
TEST(Rulebook, RecipesThatShareTheNpuShareItWithThemselvesOnly) {
  CoreHarness house(CoreHarness::slots(kUnlimited));
  house.npu("chat", "flm", NpuPolicy::coexist, ModelType::llm);
  house.npu("other", "another", NpuPolicy::coexist, ModelType::embedding);
  house.have_idle("chat");
  EXPECT_THAT(house.acquire("other"), ElementsAre("stop chat: npu"));
}

TEST(Rulebook, AnExclusiveModelOfTheNpuDrivesOutAnotherOfItsRecipe) {
  for (const char* recipe : {"ryzenai-llm", "whispercpp"}) {
    CoreHarness house(CoreHarness::slots(kUnlimited));
    for (const char* name : {"one", "two"}) house.npu(name, recipe, NpuPolicy::exclusive, ModelType::llm);
    house.have_idle("one");
    EXPECT_THAT(house.acquire("two"), ElementsAre("stop one: npu")) << recipe;
  }
}

TEST(Rulebook, ABusyHolderOfTheNpuFinishesFirst) {
  CoreHarness house(CoreHarness::slots(kUnlimited));
  settle_in(house, kNpuModels[0]);
  settle_in(house, kNpuModels[1]);
  const auto request = house.have_busy("flm");
  EXPECT_THAT(house.acquire("ryzen"), IsEmpty());
  EXPECT_THAT(house.finish(request), ElementsAre("stop flm: npu"));
}

TEST(Rulebook, AVictimOfTheNpuRuleLeavesItsSlotToo) {
  CoreHarness house(CoreHarness::slots(2));
  settle_in(house, kNpuModels[0]);
  settle_in(house, kNpuModels[1]);
  house.have_idle("a");  // least recently used, but the slot of the other one is enough
  house.have_idle("flm");
  EXPECT_THAT(house.acquire("ryzen"), ElementsAre("stop flm: npu"));
  EXPECT_EQ(house.state("a"), InstanceState::ready);
}

// ---- pins

TEST(Rulebook, APinChangesWhileRequestsRunAndReloadsNothing) {
  CoreHarness house;
  const auto request = house.have_busy("a");
  EXPECT_THAT(house.pin("a"), ElementsAre("pin a"));
  EXPECT_THAT(house.pin("a", false), ElementsAre("unpin a"));
  EXPECT_EQ(house.state("a"), InstanceState::in_use);
  EXPECT_THAT(house.finish(request), IsEmpty());
}

TEST(Rulebook, AModelThatIsPinnedByItsLoadRefusesThoseQueuedBehindIt) {
  CoreHarness house;
  house.load("a", 0, true);
  EXPECT_THAT(house.acquire("b"), IsEmpty());
  EXPECT_THAT(house.succeed("a"), ElementsAre("pin a", "loaded 1 a", "reject 2: slots_pinned_error"));
}

TEST(Rulebook, OneUnpinnedModelOfATypeIsEnough) {
  CoreHarness house(CoreHarness::slots(3), {ModelName("a"), ModelName("c")});
  for (const char* name : {"a", "b", "c"}) house.have_idle(name);
  EXPECT_THAT(house.acquire("d"), ElementsAre("stop b: room"));
}

TEST(Rulebook, AnUnloadedPinnedModelFreesItsSlot) {
  CoreHarness house({}, {ModelName("a")});
  house.have_idle("a");
  house.acquire("b");
  EXPECT_EQ(house.error(house.last_ticket()).code, errc::slots_pinned);
  house.unload("a");
  house.stopped("a");
  EXPECT_THAT(house.acquire("b"), ElementsAre("start b"));
}

TEST(Rulebook, PinnedModelsOfOneTypeDoNotConcernTheOthers) {
  CoreHarness house({}, {ModelName("a")});
  house.have_idle("a");
  EXPECT_THAT(house.acquire(nth(house, ModelType::embedding, 1)), ElementsAre("start embedding1"));
}

TEST(Rulebook, UnloadingEverythingTakesPinnedModelsOfEveryType) {
  CoreHarness house(CoreHarness::slots(2), {ModelName("a")});
  house.have_idle("a");
  house.have_idle(nth(house, ModelType::embedding, 1));
  EXPECT_THAT(house.unload_all(), ElementsAre("stop a: unload", "stop embedding1: unload"));
}

}  // namespace
}  // namespace corral::residency
