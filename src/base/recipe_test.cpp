#include "base/recipe.h"

#include <set>

#include <gtest/gtest.h>

namespace corral {
namespace {

TEST(Recipes, RowsAreSound) {
  std::set<std::string_view> names;
  for (const Recipe& recipe : recipes()) {
    EXPECT_TRUE(names.insert(recipe.name).second) << recipe.name;
    EXPECT_EQ(find_recipe(recipe.name), &recipe);
    EXPECT_FALSE(recipe.types.empty()) << recipe.name;
    EXPECT_EQ(recipe.device & recipe.possible, recipe.device) << recipe.name << ": its device is a possible one";
    EXPECT_EQ(recipe.on_npu != NpuUse::none, has(recipe.possible, Device::npu)) << recipe.name;
    EXPECT_EQ(recipe.program.empty(), recipe.name == "llamacpp") << recipe.name;
  }
  EXPECT_EQ(find_recipe("nobody"), nullptr);
}

TEST(Recipes, UseTheDevicesOfTheirDescription) {
  const std::pair<std::string_view, Device> rows[] = {
      {"llamacpp", Device::gpu},    {"oga-hybrid", Device::gpu | Device::npu},
      {"oga-npu", Device::npu},     {"oga-cpu", Device::cpu},
      {"ryzenai-llm", Device::npu}, {"flm", Device::npu},
  };
  for (const auto& [name, device] : rows) EXPECT_EQ(find_recipe(name)->device, device) << name;
}

TEST(Recipes, TheDeviceThatIsReallyUsedDecides) {
  EXPECT_EQ(npu_use("whispercpp", Device::cpu), NpuUse::none);
  EXPECT_EQ(npu_use("whispercpp", Device::npu), NpuUse::exclusive);
  EXPECT_EQ(npu_use("oga-hybrid", Device::gpu | Device::npu), NpuUse::exclusive);
  EXPECT_EQ(npu_use("flm", Device::npu), NpuUse::coexist);
  EXPECT_EQ(npu_use("flm", Device::cpu), NpuUse::none);
  EXPECT_EQ(npu_use("nobody", Device::npu), NpuUse::exclusive);
}

}  // namespace
}  // namespace corral
