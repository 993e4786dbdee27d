#include "device/pool_match.h"

#include <gtest/gtest.h>

#include "device/nvidia_smi.h"

namespace corral::device {
namespace {

constexpr std::uint64_t kGiB = 1ull << 30;

DeviceMemory device(std::string name, std::string pci = "", std::uint64_t have = 0) {
  return {.device = std::move(name), .have = have, .pci = std::move(pci)};
}

TEST(PciAddress, HasOneSpelling) {
  EXPECT_EQ(pci_address("0000:c1:00.0"), "0000:c1:00.0");
  EXPECT_EQ(pci_address("00000000:C1:00.0"), "0000:c1:00.0");
  EXPECT_EQ(pci_address("c1:00.0"), "0000:c1:00.0");
  EXPECT_EQ(pci_address("00010000:01:1f.7"), "10000:01:1f.7");
  for (const char* other : {"", ".", "0", "x:00.0", "1:2:3:4.0", "01.0", "GPU-3f", "NVIDIA A100.2", "01:00."})
    EXPECT_EQ(pci_address(other), "") << other;
}

// CUDA counts the fastest first, the driver by address.
TEST(PoolOf, CudaByAddressWhateverTheNumbers) {
  const auto pools = parse_nvidia_smi(
      "0, 00000000:41:00.0, GPU-aaaa, NVIDIA T400 4GB, 4096, 10, 4086\n"
      "1, 00000000:C1:00.0, GPU-bbbb, NVIDIA GeForce RTX 3090, 24576, 1433, 22818\n");
  ASSERT_TRUE(pools);
  EXPECT_EQ(pool_of(device("cuda0", "0000:c1:00.0"), *pools, {}), "gpu1");
  EXPECT_EQ(pool_of(device("cuda1", "0000:41:00.0"), *pools, {}), "gpu0");
  EXPECT_EQ(pool_of(device("cuda0", "0000:c1:00.0"), *pools, {.cuda = "0"}), "gpu1") << "the address counts";
  EXPECT_EQ(pool_of(device("vulkan0", "0000:41:00.0"), *pools, {}), "gpu0");
  EXPECT_EQ(pool_of(device("cuda0", "0000:99:00.0"), *pools, {}), "") << "not the first one's";
}

TEST(PoolOf, AmdWithTheOtherInterfacesToo) {
  const MemoryPools pools = {{"amdgpu0", "small", PoolKind::gpu, kGiB / 2, kGiB / 2, "0000:0d:00.0"},
                             {"amdgpu0-gtt", "small", PoolKind::shared, 16 * kGiB, 16 * kGiB, "0000:0d:00.0"},
                             {"amdgpu1", "large", PoolKind::gpu, 24 * kGiB, 24 * kGiB, "0000:03:00.0"},
                             {"amdgpu1-gtt", "large", PoolKind::shared, 16 * kGiB, 16 * kGiB, "0000:03:00.0"},
                             {"gpu0", "NVIDIA", PoolKind::gpu, 8 * kGiB, 8 * kGiB, "00000000:41:00.0"}};
  EXPECT_EQ(pool_of(device("rocm0", "0000:03:00.0"), pools, {}), "amdgpu1");
  EXPECT_EQ(pool_of(device("vulkan0", "0000:03:00.0"), pools, {}), "amdgpu1");
  EXPECT_EQ(pool_of(device("vulkan1", "0000:41:00.0"), pools, {}), "gpu0");
  DeviceMemory integrated = device("vulkan2", "0000:0d:00.0");
  integrated.integrated = true;
  EXPECT_EQ(pool_of(integrated, pools, {}), "ram") << "its memory is the machine's";
}

TEST(PoolOf, OfADividedGpuThePartThatMayBeUsed) {
  const MemoryPools pools = {{"gpu0-mig0", "MIG 1g", PoolKind::gpu, 10 * kGiB, 9 * kGiB, "00000000:C1:00.0", "MIG-one"},
                             {"gpu0-mig1", "MIG 3g", PoolKind::gpu, 40 * kGiB, 9 * kGiB, "00000000:C1:00.0", "MIG-two"},
                             {"gpu1", "whole", PoolKind::gpu, 80 * kGiB, 9 * kGiB, "00000000:C2:00.0", "GPU-three"}};
  EXPECT_EQ(pool_of(device("cuda0", "0000:c1:00.0"), pools, {.cuda = "MIG-two"}), "gpu0-mig1");
  EXPECT_EQ(pool_of(device("cuda0", "0000:c1:00.0", 39 * kGiB), pools, {}), "gpu0-mig1") << "by its size";
  EXPECT_EQ(pool_of(device("cuda0", "0000:c1:00.0", 20 * kGiB), pools, {}), "") << "none of them";
  EXPECT_EQ(pool_of(device("cuda0"), pools, {.cuda = "MIG-one"}), "gpu0-mig0");
  EXPECT_EQ(pool_of(device("cuda1", "0000:c2:00.0"), pools, {.cuda = "MIG-one"}), "gpu1");
}

TEST(PoolOf, ByNumberWhereNothingElseIsKnown) {
  const MemoryPools pools = {{"gpu0", "A", PoolKind::gpu, kGiB, kGiB, "", "GPU-aaaa"},
                             {"gpu1", "B", PoolKind::gpu, kGiB, kGiB, "", "GPU-bbbb"},
                             {"amdgpu0", "C", PoolKind::gpu, kGiB, kGiB}};
  EXPECT_EQ(pool_of(device("cuda1"), pools, {}), "gpu1");
  EXPECT_EQ(pool_of(device("cuda1", "0000:c1:00.0"), pools, {}), "gpu1") << "the driver doesn't say addresses";
  EXPECT_EQ(pool_of(device("cuda0"), pools, {.cuda = "1"}), "gpu1");
  EXPECT_EQ(pool_of(device("cuda0"), pools, {.cuda = " GPU-bb , 0"}), "gpu1");
  EXPECT_EQ(pool_of(device("cuda1"), pools, {.cuda = "1"}), "");
  EXPECT_EQ(pool_of(device("cuda0"), pools, {.cuda = "GPU-cc"}), "");
  EXPECT_EQ(pool_of(device("rocm0"), pools, {}), "amdgpu0");
  EXPECT_EQ(pool_of(device("rocm0"), pools, {.hip = "2"}), "");
  EXPECT_EQ(pool_of(device("vulkan0"), pools, {}), "") << "it could be any of them";
  EXPECT_EQ(pool_of(device("vulkan0"), std::span(pools).first(1), {}), "gpu0");
  EXPECT_EQ(pool_of(device("cpu"), {}, {}), "ram");
  EXPECT_EQ(pool_of(device("cuda0"), {}, {}), "");
  EXPECT_EQ(pool_of(device("cuda99999999999999999999"), pools, {.cuda = ",,"}), "");
}

}  // namespace
}  // namespace corral::device
