// Which files go with a model, by the catalog and the places alone.
#include "api/supply/removal_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::api {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;

const fs::path kLibrary = "/hub/models--ollama.com--library--x/snapshots/c";

models::ModelInfo model(const std::string& name, const fs::path& file) {
  models::ModelInfo info;
  info.name = ModelName(name);
  info.paths = {file};
  return info;
}

RemovalPlan plan(const models::Catalog& catalog, const std::string& name, NamedBy named, bool models_dir = false) {
  const ModelPlaces places{.hub_cache = "/hub", .own = "/own", .models_dirs = {"/mine"}};
  auto made = plan_removal(catalog, **catalog.find(name), places, named, models_dir);
  EXPECT_TRUE(made) << made.error().message;
  return made ? std::move(*made) : RemovalPlan();
}

// The adapter of "x:1b" has the name that the model "x:1b-lora" has.
TEST(RemovalPlan, WhatLiesBesideAModelGoesUnlessItIsAModel) {
  const auto first = model("x:1b", kLibrary / "x-1b.gguf");
  const std::string repo = "ollama.com/library/x";
  const auto alone = plan(models::Catalog({first}, {}, {}), "x:1b", NamedBy::files);
  ASSERT_TRUE(alone.from_hub.contains(repo));
  EXPECT_THAT(alone.from_hub.at(repo), Contains("x-1b-lora.gguf"));
  EXPECT_THAT(alone.from_hub.at(repo), Contains("x-1b.gguf"));

  const models::Catalog two({first, model("x:1b-lora", kLibrary / "x-1b-lora.gguf")}, {}, {});
  EXPECT_THAT(plan(two, "x:1b", NamedBy::files).from_hub.at(repo), Not(Contains("x-1b-lora.gguf")));
}

TEST(RemovalPlan, FilesOfANameThatAClientGaveStayButThoseOfItsFolders) {
  const models::Catalog catalog(
      {model("hub", kLibrary / "y-1b.gguf"), model("own", "/own/z.gguf"), model("mine", "/mine/m.gguf")}, {}, {});
  for (const char* name : {"hub", "own", "mine"}) {
    EXPECT_TRUE(plan(catalog, name, NamedBy::client).empty()) << name;
    EXPECT_EQ(plan(catalog, name, NamedBy::client, true).empty(), std::string_view(name) != "mine") << name;
  }
  EXPECT_FALSE(plan(catalog, "hub", NamedBy::pull).empty());
}

}  // namespace
}  // namespace corral::api
