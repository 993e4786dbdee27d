#include "engine/llama/weight_speed.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "engine/llama/backends.h"
#include "engine/llama/devices.h"

namespace corral::engine {
namespace {

TEST(WeightSpeed, IsMeasuredForEachTypeThatAProcessorKnows) {
  ASSERT_TRUE(load_backends());
  const auto devices = found_devices();
  const auto cpu = std::ranges::find(devices, GGML_BACKEND_DEVICE_TYPE_CPU, &FoundDevice::type);
  ASSERT_NE(cpu, devices.end());
  const auto speeds = measure_weight_speeds(cpu->handle, 1);
  ASSERT_TRUE(speeds);
  EXPECT_EQ(speeds->size(), 5u);
  for (const auto& speed : *speeds) EXPECT_GT(speed.bytes_per_second, 1'000'000u) << speed.type;
  EXPECT_EQ(std::ranges::count(*speeds, "q4_K", &WeightSpeed::type), 1);
}

}  // namespace
}  // namespace corral::engine
