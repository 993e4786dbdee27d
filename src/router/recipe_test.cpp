// Recipes whose programs aren't here.
#include "base/recipe.h"

#include "residency/npu_rule.h"
#include "router/errors.h"
#include "router/router_fixture.h"

namespace corral::router {
namespace {

using RecipeTest = RouterTest;

TEST_F(RecipeTest, ALoadOfOneIsRefusedBeforeAnybodyGoes) {
  have("a");
  for (const Recipe& recipe : recipes()) {
    if (recipe.name == "llamacpp") continue;
    const auto model = backends::fake_model("other", recipe.types.front(), std::string(recipe.name));
    auto loaded = run(router->load(model, {}, {}));
    ASSERT_TRUE(loaded.refused()) << recipe.name;
    EXPECT_EQ(loaded.error().code, errc::unknown_recipe);
    EXPECT_EQ(loaded.error().code.message(), "backend_not_installed");
    EXPECT_THAT(loaded.error().message, HasSubstr("'" + std::string(recipe.program) + "'"));
    auto acquired = run(router->acquire(model));
    EXPECT_TRUE(acquired.refused()) << recipe.name;
  }
  EXPECT_THAT(resident(), ElementsAre("a"));
  EXPECT_EQ(backend.servers().size(), 1u);
}

TEST_F(RecipeTest, TheDecisionCoreKnowsTheSamePolicies) {
  const std::pair<NpuUse, residency::NpuPolicy> pairs[] = {{NpuUse::none, residency::NpuPolicy::none},
                                                           {NpuUse::exclusive, residency::NpuPolicy::exclusive},
                                                           {NpuUse::coexist, residency::NpuPolicy::coexist}};
  for (const Recipe& recipe : recipes()) {
    for (const Device device : {Device::cpu, Device::gpu, Device::npu, Device::gpu | Device::npu}) {
      const auto use = npu_use(recipe.name, device);
      // An NPU that a recipe can't use is nobody's business.
      if (has(device, Device::npu) && !has(recipe.possible, Device::npu)) continue;
      const auto* const expected = std::ranges::find(pairs, use, [](const auto& pair) { return pair.first; });
      EXPECT_EQ(residency::npu_policy_of(recipe.name, device), expected->second) << recipe.name;
    }
  }
}

}  // namespace
}  // namespace corral::router
