#include <set>

#include <gtest/gtest.h>

#include "base/recipe_table.h"

namespace corral {
namespace {

TEST(Recipes, RowsAreSound) {
  std::set<std::string_view> names;
  for (const Recipe& recipe : recipes()) {
    EXPECT_TRUE(names.insert(recipe.name).second) << recipe.name;
    EXPECT_EQ(RecipeTable().find(recipe.name), &recipe);
    EXPECT_FALSE(recipe.types.empty()) << recipe.name;
    EXPECT_EQ(recipe.device & recipe.possible, recipe.device) << recipe.name << ": its device is a possible one";
    EXPECT_EQ(recipe.on_npu != NpuUse::none, has(recipe.possible, Device::npu)) << recipe.name;
    EXPECT_EQ(recipe.program.empty(), recipe.name == "llamacpp") << recipe.name;
  }
  EXPECT_EQ(RecipeTable().find("nobody"), nullptr);
}

TEST(Recipes, UseTheDevicesOfTheirDescription) {
  const std::pair<std::string_view, Device> rows[] = {
      {"llamacpp", Device::gpu},    {"oga-hybrid", Device::gpu | Device::npu},
      {"oga-npu", Device::npu},     {"oga-cpu", Device::cpu},
      {"ryzenai-llm", Device::npu}, {"flm", Device::npu},
  };
  for (const auto& [name, device] : rows) EXPECT_EQ(RecipeTable().find(name)->device, device) << name;
}

TEST(Recipes, TheDeviceThatIsReallyUsedDecides) {
  EXPECT_EQ(RecipeTable().npu_use("whispercpp", Device::cpu), NpuUse::none);
  EXPECT_EQ(RecipeTable().npu_use("whispercpp", Device::npu), NpuUse::exclusive);
  EXPECT_EQ(RecipeTable().npu_use("oga-hybrid", Device::gpu | Device::npu), NpuUse::exclusive);
  EXPECT_EQ(RecipeTable().npu_use("flm", Device::npu), NpuUse::coexist);
  EXPECT_EQ(RecipeTable().npu_use("flm", Device::cpu), NpuUse::none);
  EXPECT_EQ(RecipeTable().npu_use("nobody", Device::npu), NpuUse::exclusive);
}

OwnRecipe own(std::string name, Device device) {
  return {.name = std::move(name), .device = device, .possible = device, .types = {ModelType::llm}, .program = "mine"};
}

TEST(RecipeTableTest, OwnRecipesAreAddedAndReplaceThoseOfTheirName) {
  const RecipeTable built_in;
  const auto table = built_in.with({own("mine", Device::cpu), own("vllm", Device::cpu)});
  EXPECT_EQ(built_in.find("mine"), nullptr);
  ASSERT_NE(table.find("mine"), nullptr);
  EXPECT_EQ(table.find("mine")->program, "mine");
  EXPECT_EQ(table.find("vllm")->device, Device::cpu);
  EXPECT_EQ(built_in.find("vllm")->device, Device::gpu);
  EXPECT_EQ(table.names(), built_in.names() + ", mine");

  const auto changed = table.with({own("mine", Device::gpu), own("other", Device::cpu)});
  EXPECT_EQ(changed.find("mine")->device, Device::gpu);
  EXPECT_EQ(changed.find("vllm")->device, Device::cpu);
  EXPECT_EQ(changed.names(), built_in.names() + ", mine, other");
}

TEST(RecipeTableTest, TheSameRecipesMakeTheSameTable) {
  const auto table = RecipeTable().with({own("mine", Device::cpu)});
  EXPECT_EQ(table.with({own("mine", Device::cpu)}), table);
  EXPECT_NE(table.with({own("mine", Device::gpu)}), table);
  EXPECT_NE(table, RecipeTable());
}

TEST(RecipeTableTest, RowsLiveAsLongAsACopy) {
  const Recipe* row = nullptr;
  RecipeTable copy;
  {
    const auto table = RecipeTable().with({own("a-name-too-long-for-the-space-in-a-string", Device::cpu)});
    row = table.find("a-name-too-long-for-the-space-in-a-string");
    copy = table;
  }
  EXPECT_EQ(copy.find(row->name), row);
  EXPECT_EQ(row->types.front(), ModelType::llm);
}

TEST(RecipeTableTest, OwnRecipesHaveTheirRuleForTheNpu) {
  auto mine = own("mine", Device::npu);
  mine.on_npu = NpuUse::coexist;
  const auto table = RecipeTable().with({mine});
  EXPECT_EQ(table.npu_use("mine", Device::npu), NpuUse::coexist);
  EXPECT_EQ(table.npu_use("mine", Device::cpu), NpuUse::none);
}

}  // namespace
}  // namespace corral
