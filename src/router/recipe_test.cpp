// Recipes whose programs aren't here.
#include "base/recipe_table.h"
#include "residency/npu_rule.h"
#include "router/base/errors.h"
#include "router/router_fixture_for_tests.h"

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

TEST_F(RecipeTest, TheRefusalNamesTheProgramOfTheUsersRecipe) {
  const auto model = backends::fake_model("other", ModelType::llm, "mine");
  EXPECT_THAT(run(router->load(model, {}, {})).error().message, HasSubstr("is unknown"));
  router->use(RecipeTable().with({{.name = "mine", .types = {ModelType::llm}, .program = "my-server"}}));
  EXPECT_THAT(run(router->load(model, {}, {})).error().message, HasSubstr("'my-server'"));
}

}  // namespace
}  // namespace corral::router
