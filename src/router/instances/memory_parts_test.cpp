#include "router/instances/memory_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::router {
namespace {

using testing::ElementsAre;

const device::MemoryPool kRam{"ram", "RAM", device::PoolKind::ram, 1000, 700};
const device::MemoryPool kGpu{"gpu0", "A", device::PoolKind::gpu, 500, 200, "0000:41:00.0"};

// 100 bytes of weights in host memory, 60 of them in the file's pages, and 200 on the GPU.
MemoryEstimate estimate() {
  return {.devices = {{.device = "cpu", .weights = 100, .kv = 10, .compute = 5},
                      {.device = "cuda0", .weights = 200, .kv = 50, .compute = 20, .pci = "0000:41:00.0"}},
          .in_place = 60,
          .mapped = 80,
          .process = 30};
}

TEST(MemoryParts, AreThoseOfThePrediction) {
  const std::vector pools{kRam, kGpu};
  const auto parts = memory_parts(estimate(), pools, {}, false);
  EXPECT_THAT(
      parts,
      ElementsAre(MemoryParts{.pool = "ram", .weights = 120, .kv = 10, .compute = 5, .process = 30, .reclaimable = 80},
                  MemoryParts{.pool = "gpu0", .weights = 200, .kv = 50, .compute = 20}));
  EXPECT_EQ(parts.front().total(), estimate().resident());
}

TEST(MemoryParts, ADownsizedModelHasNoBuffers) {
  const std::vector pools{kRam, kGpu};
  const auto parts = memory_parts(estimate(), pools, {}, true);
  EXPECT_EQ(parts.front().kv + parts.front().compute, 0u);
  EXPECT_EQ(parts.back().total(), 200u);
}

TEST(MemoryParts, SeveralDevicesMayUseOnePool) {
  auto shared = estimate();
  shared.devices[1] = {.device = "igpu", .weights = 7, .kv = 2, .integrated = true};
  const std::vector pools{kRam};
  const auto parts = memory_parts(shared, pools, {}, false);
  std::uint64_t total = 0;
  for (const auto& one : parts) total += one.total();
  EXPECT_EQ(total, shared.resident() + 9);
}

TEST(MemoryParts, OfANumberTheDynamicPartIsKv) {
  const residency::MemoryUse use{{residency::PoolId("gpu0"), 100, 30}};
  EXPECT_THAT(memory_parts(use, false), ElementsAre(MemoryParts{.pool = "gpu0", .weights = 70, .kv = 30}));
  EXPECT_THAT(memory_parts(use, true), ElementsAre(MemoryParts{.pool = "gpu0", .weights = 70}));
}

TEST(PoolReport, TheRestIsOfOtherProgramsOrFree) {
  const std::vector<MemoryParts> used{
      {.pool = "ram", .weights = 120, .kv = 10, .compute = 5, .process = 30, .reclaimable = 80},
      {.pool = "gpu0", .weights = 200, .kv = 70}};
  const auto ram = pool_report(kRam, used);
  EXPECT_EQ(ram.other, 1000u - 700u - (165u - 80u)) << "pages of the file count as available";
  EXPECT_EQ(ram.free, 1000u - ram.other - 165u);
  const auto gpu = pool_report(kGpu, used);
  EXPECT_EQ(gpu.other, 30u);
  EXPECT_EQ(gpu.free, 200u);
}

TEST(PoolReport, APredictionAboveTheMeasuredUseIsNoneOfOthers) {
  const std::vector<MemoryParts> used{{.pool = "gpu0", .weights = 450}};
  const auto gpu = pool_report(kGpu, used);
  EXPECT_EQ(gpu.other, 0u);
  EXPECT_EQ(gpu.free, 50u);
}

}  // namespace
}  // namespace corral::router
