// Which devices a load may open, over devices that nobody has.
#include "engine/llama/devices.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Handles are never looked into.
ggml_backend_dev_t handle(std::uintptr_t number) { return reinterpret_cast<ggml_backend_dev_t>(number); }

const std::vector<FoundDevice> kDevices = {
    {"CUDA", GGML_BACKEND_DEVICE_TYPE_GPU, handle(1), "CUDA0"},
    {"CUDA", GGML_BACKEND_DEVICE_TYPE_GPU, handle(2), "CUDA1"},
    {"Vulkan", GGML_BACKEND_DEVICE_TYPE_GPU, handle(3), "Vulkan0"},
    {"Vulkan", GGML_BACKEND_DEVICE_TYPE_IGPU, handle(4), "Vulkan1"},
    {"BLAS", GGML_BACKEND_DEVICE_TYPE_ACCEL, handle(5), "BLAS"},
    {"CPU", GGML_BACKEND_DEVICE_TYPE_CPU, handle(6), "CPU"},
};

std::string refused(std::string_view backend, std::vector<std::string> names) {
  const auto chosen = choose_gpus(kDevices, backend, names);
  if (chosen) return "taken";
  EXPECT_EQ(chosen.error().code, errc::invalid_argument);
  EXPECT_EQ(chosen.error().param, "devices");
  return chosen.error().message;
}

std::vector<ggml_backend_dev_t> chosen(std::string_view backend) {
  std::vector<ggml_backend_dev_t> handles;
  for (const FoundDevice& gpu : gpus_of(kDevices, backend)) handles.push_back(gpu.handle);
  return handles;
}

TEST(Devices, EachKindHasItsOwn) {
  EXPECT_THAT(chosen("cuda"), ElementsAre(handle(1), handle(2)));
  EXPECT_THAT(chosen("vulkan"), ElementsAre(handle(3), handle(4)));
  EXPECT_THAT(chosen(""), ElementsAre(handle(1), handle(2), handle(3), handle(4)));
  EXPECT_THAT(chosen("cpu"), IsEmpty());
  EXPECT_THAT(chosen("rocm"), IsEmpty());
}

TEST(Devices, ByName) {
  const std::vector<std::string> names = {"vulkan1", "CUDA0"};
  const auto chosen = choose_gpus(kDevices, "", names);
  ASSERT_TRUE(chosen);
  ASSERT_EQ(chosen->size(), 2u);
  EXPECT_EQ((*chosen)[0].handle, handle(4)) << "in the order in which they are named";
  EXPECT_EQ((*chosen)[1].handle, handle(1));
  EXPECT_EQ(choose_gpus(kDevices, "cuda", {})->size(), 2u);
  EXPECT_THAT(refused("", {"CUDA7"}), HasSubstr("'CUDA7'; this engine has CUDA0, CUDA1, Vulkan0, Vulkan1"));
  EXPECT_THAT(refused("vulkan", {"CUDA0"}), HasSubstr("no GPU 'CUDA0' of 'vulkan'; this engine has Vulkan0, Vulkan1"));
  EXPECT_THAT(refused("cpu", {"CUDA0"}), HasSubstr("this engine has none"));
  EXPECT_THAT(refused("", {"CPU"}), HasSubstr("there is no GPU 'CPU'"));
  EXPECT_THAT(refused("", {"CUDA0", "cuda0"}), HasSubstr("named twice"));
}

TEST(Devices, SharingMatchesTheirNumber) {
  constexpr std::array<float, 2> kShares = {3, 1};
  EXPECT_TRUE(check_sharing({}, 0));
  EXPECT_TRUE(check_sharing({.main_gpu = 1, .tensor_split = kShares}, 2));
  EXPECT_EQ(check_sharing({.main_gpu = 2}, 2).error().param, "main_gpu");
  EXPECT_EQ(check_sharing({.main_gpu = -1}, 2).error().param, "main_gpu");
  EXPECT_EQ(check_sharing({.tensor_split = kShares}, 1).error().param, "tensor_split");
  EXPECT_EQ(check_sharing({.tensor_split = kShares}, 0).error().param, "tensor_split");
}

TEST(Devices, KindsHaveTheNamesOfUsers) {
  EXPECT_THAT(backends_of(kDevices), ElementsAre("cpu", "cuda", "vulkan"));
  const std::vector<FoundDevice> others = {{"ROCm", GGML_BACKEND_DEVICE_TYPE_GPU, handle(1)},
                                           {"MTL", GGML_BACKEND_DEVICE_TYPE_GPU, handle(2)}};
  EXPECT_THAT(backends_of(others), ElementsAre("rocm", "metal"));
}

TEST(Devices, WhatIsMissingIsNamedWithWhatThereIs) {
  for (const auto* name : {"", "cpu", "cuda", "vulkan"}) EXPECT_TRUE(check_backend(kDevices, name)) << name;
  for (const auto* name : {"rocm", "metal"}) {
    const auto missing = check_backend(kDevices, name);
    ASSERT_FALSE(missing) << name;
    EXPECT_EQ(missing.error().code, errc::backend_not_installed);
    EXPECT_THAT(missing.error().message, HasSubstr(std::string("'") + name + "'"));
    EXPECT_THAT(missing.error().message, HasSubstr("this engine has cpu, cuda, vulkan. Take one of these or 'auto'"));
  }
  const auto unknown = check_backend(kDevices, "CUDA");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, errc::invalid_argument);
  EXPECT_EQ(unknown.error().param, "backend");
}

}  // namespace
}  // namespace corral::engine
