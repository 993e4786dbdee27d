// Which devices a load may open, over devices that nobody has.
#include "engine/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/errors.h"

namespace corral::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Handles are never looked into.
ggml_backend_dev_t handle(std::uintptr_t number) { return reinterpret_cast<ggml_backend_dev_t>(number); }

const std::vector<FoundDevice> kDevices = {
    {"CUDA", GGML_BACKEND_DEVICE_TYPE_GPU, handle(1)},   {"CUDA", GGML_BACKEND_DEVICE_TYPE_GPU, handle(2)},
    {"Vulkan", GGML_BACKEND_DEVICE_TYPE_GPU, handle(3)}, {"Vulkan", GGML_BACKEND_DEVICE_TYPE_IGPU, handle(4)},
    {"BLAS", GGML_BACKEND_DEVICE_TYPE_ACCEL, handle(5)}, {"CPU", GGML_BACKEND_DEVICE_TYPE_CPU, handle(6)},
};

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
