// Whether a load fits where it computes, on machines that nobody has here.
#include "engine/fit/memory_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kGiB = 1ull << 30;

MemoryNeed need(std::string device, std::uint64_t wanted, std::uint64_t have) {
  return {std::move(device), wanted * kGiB, have * kGiB};
}
auto is(const MemoryNeed& one) {
  return testing::AllOf(testing::Field(&MemoryNeed::device, one.device), testing::Field(&MemoryNeed::need, one.need),
                        testing::Field(&MemoryNeed::have, one.have));
}

// A load in GiB: the host's weights and context, then those of each GPU.
struct Part {
  std::string device;
  std::uint64_t weights = 0, kv = 0;
  bool integrated = false;
};
MemoryEstimate load(const std::vector<Part>& parts) {
  MemoryEstimate estimate;
  for (const Part& part : parts)
    estimate.devices.push_back(
        {.device = part.device, .weights = part.weights * kGiB, .kv = part.kv * kGiB, .integrated = part.integrated});
  return estimate;
}
DeviceBudget pool(std::string device, std::uint64_t free) { return {.device = std::move(device), .free = free * kGiB}; }
DeviceBudget unknown(std::string device) { return {.device = std::move(device)}; }

// ---- does it fit?

TEST(TooSmall, OneGpuIsComparedWithItsOwnMemory) {
  const auto needed = load({{"cpu", 1, 0}, {"cuda0", 14, 4}});
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 8), pool("cuda0", 18)}), IsEmpty());
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 80), pool("cuda0", 16)}),
              ElementsAre(is(need("cuda0", 18, 16))))
      << "the host's memory is of no help";
}

TEST(TooSmall, OfTwoUnequalGpusEachCounts) {
  const auto needed = load({{"cpu", 0, 0}, {"cuda0", 12, 6}, {"cuda1", 6, 3}});
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 8), pool("cuda0", 24), pool("cuda1", 8)}),
              ElementsAre(is(need("cuda1", 9, 8))))
      << "together they would have room";
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 8), pool("cuda0", 16), pool("cuda1", 8)}),
              ElementsAre(is(need("cuda0", 18, 16)), is(need("cuda1", 9, 8))));
}

TEST(TooSmall, WithAPartOnTheHostBothCount) {
  const auto needed = load({{"cpu", 10, 4}, {"cuda0", 5, 2}});
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 12), pool("cuda0", 8)}), ElementsAre(is(need("cpu", 14, 12))));
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 16), pool("cuda0", 6)}), ElementsAre(is(need("cuda0", 7, 6))));
}

TEST(TooSmall, PagesOfTheFileAreNoNeed) {
  auto needed = load({{"cpu", 10, 4}});
  needed.in_place = needed.mapped = 10 * kGiB;
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 4)}), IsEmpty());
}

TEST(TooSmall, WhereNobodyKnowsWhatIsFreeNothingIsRefused) {
  const auto needed = load({{"cpu", 1, 0}, {"vulkan0", 500, 4}});
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 8), unknown("vulkan0")}), IsEmpty());
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 8)}), IsEmpty()) << "not even that it is there";
  EXPECT_THAT(too_small(needed, std::vector{unknown("cpu"), pool("vulkan0", 8)}),
              ElementsAre(is(need("vulkan0", 504, 8))));
}

// Two instances of one GPU: the same PCI address, and each with its own memory.
TEST(TooSmall, PartsOfOneGpuAreMemoriesOfTheirOwn) {
  auto needed = load({{"cpu", 0, 0}, {"cuda0", 12, 2}, {"cuda1", 4, 2}});
  needed.devices[1].pci = needed.devices[2].pci = "0000:c1:00.0";
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 8), pool("cuda0", 19), pool("cuda1", 9)}), IsEmpty());
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 8), pool("cuda0", 9), pool("cuda1", 19)}),
              ElementsAre(is(need("cuda0", 14, 9))));
}

TEST(TooSmall, WhatAnIntegratedGpuTakesIsTheHosts) {
  const auto needed = load({{"cpu", 4, 0}, {"vulkan0", 8, 2, true}});
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 14)}), IsEmpty());
  EXPECT_THAT(too_small(needed, std::vector{pool("cpu", 12)}), ElementsAre(is(need("cpu", 14, 12))));
}

// ---- how large may a context get?

TEST(ContextRoom, TheTightestGpuDecides) {
  const std::vector<ContextShare> shares = {{"cpu", 0}, {"cuda0", 2 * kGiB}, {"cuda1", 1 * kGiB}};
  const std::vector pools = {pool("cpu", 1), pool("cuda0", 62), pool("cuda1", 3)};
  const auto room = context_room(shares, 8192, 1, pools);
  ASSERT_EQ(room.size(), 2u);
  EXPECT_EQ(room[0].per_token, 2 * kGiB / 8192);
  EXPECT_EQ(room[0].free, 64 * kGiB) << "with what it has already";
  EXPECT_EQ(room[1].free, 4 * kGiB);
  EXPECT_EQ(automatic_context(1 << 20, room), 24576u) << "three quarters of the smaller one's, a step below 32k";
  EXPECT_EQ(automatic_context(1 << 20, context_room(shares, 8192, 1,
                                                    std::vector{pool("cpu", 1), pool("cuda0", 62), pool("cuda1", 31)})),
            131072u);
}

TEST(ContextRoom, AHostWithHardlyAPartInItIsNoLimit) {
  const auto room = context_room(std::vector<ContextShare>{{"cpu", 8192}, {"cuda0", kGiB}}, 8192, 1,
                                 std::vector{pool("cpu", 1), pool("cuda0", 63)});
  EXPECT_EQ(automatic_context(262'144, room), 262'144u);
}

TEST(ContextRoom, SeveralContextsShareIt) {
  const std::vector<ContextShare> shares = {{"cuda0", kGiB}};
  EXPECT_EQ(context_room(shares, 8192, 4, std::vector{pool("cuda0", 7)}).front().per_token, 4 * kGiB / 8192);
}

TEST(ContextRoom, WhereNobodyKnowsWhatIsFreeAContextStaysAsItBegins) {
  const std::vector<ContextShare> shares = {{"cpu", 1}, {"vulkan0", kGiB}};
  const auto room = context_room(shares, 8192, 1, std::vector{pool("cpu", 64), unknown("vulkan0")});
  EXPECT_TRUE(room.empty());
  EXPECT_EQ(automatic_context(1 << 20, room), kFirstContext);
}

TEST(ContextRoom, AnIntegratedGpuHasTheHostsMemory) {
  const std::vector<ContextShare> shares = {{"cpu", kGiB}, {"vulkan0", kGiB, true}};
  const auto room = context_room(shares, 8192, 1, std::vector{pool("cpu", 30)});
  ASSERT_EQ(room.size(), 1u);
  EXPECT_EQ(room[0].per_token, 2 * kGiB / 8192);
  EXPECT_EQ(room[0].free, 32 * kGiB);
}

// ---- how many layers do GPUs have room for?

// A model of 32 layers of 1 GiB and an output of 2, over GPUs in proportion to `shares`; what isn't there is the
// host's.
EstimateLayers model_of_32(std::vector<std::pair<std::string, double>> shares, std::uint32_t* asked = nullptr) {
  return [shares = std::move(shares), asked](std::int32_t gpu_layers) -> Result<MemoryEstimate> {
    if (asked != nullptr) ++*asked;
    const bool all = gpu_layers < 0 || gpu_layers > 32;
    const std::uint64_t there = all ? 34 : static_cast<std::uint64_t>(gpu_layers);
    MemoryEstimate estimate = load({{"cpu", 34 - there, 0}});
    for (const auto& [device, share] : shares)
      estimate.devices.push_back(
          {.device = device, .weights = static_cast<std::uint64_t>(static_cast<double>(there * kGiB) * share)});
    return estimate;
  };
}
std::int32_t fitting(const EstimateLayers& model, const std::vector<DeviceBudget>& pools) {
  const auto all = model(-1);
  if (gpus_have_room(*all, pools)) return -1;
  return fit_layers(32, model, pools)->gpu_layers;
}

TEST(FitLayers, AsManyAsOneGpuHasRoomForBesideTheMargin) {
  const auto model = model_of_32({{"cuda0", 1.0}});
  EXPECT_EQ(fitting(model, {pool("cpu", 64), pool("cuda0", 35)}), -1);
  EXPECT_EQ(fitting(model, {pool("cpu", 64), pool("cuda0", 34)}), 32) << "all but the output";
  EXPECT_EQ(fitting(model, {pool("cpu", 64), pool("cuda0", 24)}), 23);
  EXPECT_EQ(fitting(model, {pool("cpu", 64), pool("cuda0", 2)}), 1);
  EXPECT_EQ(fitting(model, {pool("cpu", 64), pool("cuda0", 1)}), 0);
  EXPECT_EQ(fitting(model, {pool("cpu", 64), pool("cuda0", 0)}), 0);
}

TEST(FitLayers, TheFullerOfTwoUnequalGpusDecides) {
  const auto model = model_of_32({{"cuda0", 0.75}, {"cuda1", 0.25}});
  EXPECT_EQ(fitting(model, {pool("cpu", 64), pool("cuda0", 32), pool("cuda1", 16)}), -1);
  EXPECT_EQ(fitting(model, {pool("cpu", 64), pool("cuda0", 32), pool("cuda1", 4)}), 12);
  EXPECT_EQ(fitting(model, {pool("cpu", 64), pool("cuda0", 10), pool("cuda1", 16)}), 12);
}

TEST(FitLayers, PartsOfOneGpuAreGpusOfTheirOwn) {
  const auto model = model_of_32({{"cuda0", 0.5}, {"cuda1", 0.5}});
  EXPECT_EQ(fitting(model, {pool("cpu", 64), pool("cuda0", 10), pool("cuda1", 10)}), 18);
}

TEST(FitLayers, AGpuThatDoesNotSayWhatIsFreeGetsAll) {
  EXPECT_EQ(fitting(model_of_32({{"vulkan0", 1.0}}), {pool("cpu", 64), unknown("vulkan0")}), -1);
  EXPECT_EQ(
      fitting(model_of_32({{"vulkan0", 0.5}, {"cuda0", 0.5}}), {pool("cpu", 64), unknown("vulkan0"), pool("cuda0", 9)}),
      16);
}

TEST(FitLayers, TellsWhatTheLoadWillTakeThen) {
  const auto fit = fit_layers(32, model_of_32({{"cuda0", 1.0}}), std::vector{pool("cpu", 64), pool("cuda0", 24)});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->estimate.devices[0].weights, 11 * kGiB);
  EXPECT_EQ(fit->estimate.devices[1].weights, 23 * kGiB);
}

TEST(FitLayers, AsksAFewTimesOnly) {
  std::uint32_t asked = 0;
  const auto model = model_of_32({{"cuda0", 1.0}}, &asked);
  for (std::uint64_t free = 0; free < 34; ++free) {
    asked = 0;
    ASSERT_TRUE(fit_layers(32, model, std::vector{pool("cuda0", free)}));
    EXPECT_LE(asked, 7u) << free;
  }
}

TEST(FitLayers, AnEstimateThatFailsIsTheAnswer) {
  const EstimateLayers broken = [](std::int32_t) -> Result<MemoryEstimate> {
    return fail(errc::load_failed, "broken");
  };
  EXPECT_EQ(fit_layers(32, broken, std::vector{pool("cuda0", 1)}).error().code, errc::load_failed);
}

}  // namespace
}  // namespace corral::engine
