// How layers are shared out over machines. What they compute together is tested with real processes
// (tests/integration/split.test.mjs).
#include "engine/llama/split_devices.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Handles are never looked into.
ggml_backend_dev_t handle(std::uintptr_t number) { return reinterpret_cast<ggml_backend_dev_t>(number); }

TEST(SplitDevices, KeepTheOrderOfTheMachines) {
  const MachineShare machines[] = {{{{handle(1)}}, 2}, {{{handle(2)}}, 3}, {{{handle(3)}}, 1}};
  const auto split = lay_out(machines);
  EXPECT_THAT(split.devices, ElementsAre(handle(1), handle(2), handle(3)));
  EXPECT_THAT(split.shares, ElementsAre(2, 3, 1));
}

TEST(SplitDevices, AMachineSharesItsPartOutByWeight) {
  const MachineShare machines[] = {{{{handle(1), 24}, {handle(2), 8}}, 2}, {{{handle(3)}}, 2}};
  EXPECT_THAT(lay_out(machines).shares, ElementsAre(1.5F, 0.5F, 2));
}

TEST(SplitDevices, WithoutAnyWeightNobodyHasAPart) {
  const MachineShare machines[] = {{{{handle(1), 0}}, 2}};
  EXPECT_THAT(lay_out(machines).shares, ElementsAre(0));
}

TEST(SplitDevices, EveryMachineNeedsAShare) {
  EngineLoadOptions options{.remotes = {{"b", "127.0.0.1:1", 1}}, .own_share = 1};
  EXPECT_TRUE(check_shares(options));
  for (const float share : {0.0F, -1.0F, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    options.remotes.front().share = share;
    const auto refused = check_shares(options);
    ASSERT_FALSE(refused) << share;
    EXPECT_EQ(refused.error().code, errc::invalid_argument);
    EXPECT_EQ(refused.error().param, "split");
    EXPECT_THAT(refused.error().message, HasSubstr("'b'"));
  }
  options.remotes.front().share = 1;
  options.own_share = 0;
  ASSERT_FALSE(check_shares(options));
  EXPECT_THAT(check_shares(options).error().message, HasSubstr("the host's own share is 0"));
}

}  // namespace
}  // namespace corral::engine
