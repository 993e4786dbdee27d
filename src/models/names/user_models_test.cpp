#include "models/names/user_models.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/recipe.h"
#include "models/errors.h"
#include "models/gguf/gguf_test_writer.h"
#include "models/registry.h"
#include "models/temp_dir_for_tests.h"

namespace corral::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class UserModelsTest : public testing::Test {
 protected:
  UserModelsTest() {
    GgufWriter::model("llama").save(dir_ / "models/chat.gguf");
    GgufWriter::model("llama").save(dir_ / "elsewhere/other.gguf");
  }
  void write(const std::string& text) { std::ofstream(dir_ / "user_models.json") << text; }
  std::string path(const std::string& relative) const { return (dir_ / relative).native(); }
  std::shared_ptr<const Catalog> scanned(std::vector<UserModel> configured = {}) const {
    const RegistryOptions options{.models_dirs = {dir_ / "models"},
                                  .hub_cache = {},
                                  .user_models = dir_ / "user_models.json",
                                  .configured = std::move(configured)};
    return scan(options, nullptr).catalog;
  }
  static std::vector<std::string> names(const Catalog& catalog) {
    std::vector<std::string> all;
    for (const auto& model : catalog.models()) all.push_back(model->name.value());
    return all;
  }

  const TempDir dir_;
};

TEST_F(UserModelsTest, WithoutAFileNothingChanges) {
  EXPECT_THAT(names(*scanned()), ElementsAre("chat"));
  EXPECT_THAT(scanned()->problems(), IsEmpty());
}

TEST_F(UserModelsTest, AnInstalledProgramsModelNeedsNoConfiguration) {
  const auto with = [&](std::vector<UserModel> configured, bool (*is_installed)(), bool is_given = false) {
    RegistryOptions options{.models_dirs = {dir_ / "models"}, .hub_cache = {}, .configured = std::move(configured)};
    options.installed = {
        {{.name = "espeak-ng", .checkpoint = {}, .recipe = "espeak-ng", .labels = {"tts"}, .configured = true},
         is_installed}};
    if (is_given) options.given = GivenModel{.file = dir_ / "models/chat.gguf"};
    return scan(options, nullptr).catalog;
  };
  const auto yes = [] { return true; };
  const auto catalog = with({}, yes);
  EXPECT_THAT(names(*catalog), ElementsAre("chat", "espeak-ng"));
  const auto model = catalog->find("espeak-ng");
  ASSERT_TRUE(model);
  EXPECT_EQ((*model)->type, ModelType::tts);
  EXPECT_EQ((*model)->recipe, "espeak-ng");
  EXPECT_TRUE((*model)->installed);
  EXPECT_THAT(names(*with({}, [] { return false; })), ElementsAre("chat"));
  EXPECT_THAT(names(*with({}, yes, true)), ElementsAre("chat"));
  // The user's model of that name, or with such an alias, comes first.
  const auto own =
      with({{.name = "espeak-ng", .checkpoint = "", .recipe = "kokoro", .labels = {}, .configured = true}}, yes);
  EXPECT_EQ((*own->find("espeak-ng"))->recipe, "kokoro");
  EXPECT_THAT(names(*own), ElementsAre("chat", "espeak-ng"));
  const auto alias = with({{.name = "speaker",
                            .checkpoint = "",
                            .recipe = "kokoro",
                            .labels = {},
                            .aliases = {"espeak-ng"},
                            .configured = true}},
                          yes);
  EXPECT_THAT(names(*alias), ElementsAre("chat", "speaker"));
}

TEST_F(UserModelsTest, AFileGetsTheUsersNameAndKeepsItsOwnAsAnAlias) {
  write(R"({"mine":{"checkpoint":")" + path("models/chat.gguf") + R"("},"far":{"checkpoints":{"main":")" +
        path("elsewhere/other.gguf") + R"("},"labels":["embeddings"]}})");
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), ElementsAre("far", "mine"));
  EXPECT_EQ((*catalog->find("chat"))->name.value(), "mine");
  EXPECT_EQ((*catalog->find("user.mine"))->recipe, "llamacpp");
  EXPECT_EQ((*catalog->find("far"))->type, ModelType::embedding);
}

// As other servers write their names.
TEST_F(UserModelsTest, APrefixIsNoPartOfAName) {
  write(R"({"user.mine":{"checkpoint":"extra.chat"},"builtin.other":{"checkpoint":"chat.gguf"}})");
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), ElementsAre("mine", "other"));
  for (const auto* name : {"mine", "user.mine", "extra.mine:latest", "chat"}) EXPECT_TRUE(catalog->find(name)) << name;
}

TEST_F(UserModelsTest, TwoEntriesOfOneNameAreAProblem) {
  write(R"({"mine":{"checkpoint":"chat"},"user.mine":{"checkpoint":"chat"}})");
  EXPECT_THAT(names(*scanned()), ElementsAre("mine"));
  ASSERT_EQ(scanned()->problems().size(), 1u);
  EXPECT_THAT(scanned()->problems()[0].cause.message, HasSubstr("there is another entry with this name"));
}

// It was the last one here, and the first one in the rule that was tested.
TEST_F(UserModelsTest, TheFirstLabelThatStandsForATypeDecides) {
  write(R"({"ranker":{"checkpoint":"chat","labels":["hot","reranking","embeddings"]}})");
  EXPECT_EQ((*scanned()->find("ranker"))->type, ModelType::reranking);
}

TEST_F(UserModelsTest, OneFileMayBeSeveralModels) {
  write(R"({"long":{"checkpoint":"chat"},"short":{"checkpoint":")" + path("models/chat.gguf") + R"("}})");
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), ElementsAre("long", "short"));
  EXPECT_EQ((*catalog->find("long"))->paths, (*catalog->find("short"))->paths);
}

TEST_F(UserModelsTest, EveryRecipeCanBeNamed) {
  std::string text = "{";
  for (const Recipe& recipe : recipes()) {
    if (recipe.name == "llamacpp") continue;
    text += std::string(text.size() > 1 ? "," : "") + "\"" + std::string(recipe.name) +
            R"(":{"checkpoint":"x:1b","recipe":")" + std::string(recipe.name) + "\"}";
  }
  write(text + "}");
  const auto catalog = scanned();
  for (const Recipe& recipe : recipes()) {
    if (recipe.name == "llamacpp") continue;
    const auto found = catalog->find(recipe.name);
    ASSERT_TRUE(found) << recipe.name;
    EXPECT_EQ((*found)->recipe, recipe.name);
    EXPECT_EQ((*found)->type, recipe.types.front());
    EXPECT_EQ((*found)->checkpoint, "x:1b");
  }
}

TEST_F(UserModelsTest, TheUsersNameCountsMoreThanAFoundOne) {
  write(R"({"Chat":{"checkpoint":"x","recipe":"flm","labels":["transcription"]}})");
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), ElementsAre("Chat"));
  EXPECT_EQ((*catalog->find("chat"))->type, ModelType::transcription);
}

TEST_F(UserModelsTest, WhatIsWrongIsAProblemOfThatName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"a":{"recipe":"flm"}})", "it needs a 'checkpoint'"},
      {R"({"a":{"checkpoint":"x","recipe":"nope"}})", "unknown recipe 'nope'; known recipes: llamacpp, "},
      {R"({"a":{"checkpoint":"x","recipe":"flm","labels":["image"]}})", "recipe 'flm' does not serve 'image'"},
      {R"({"a":{"checkpoint":"/nowhere/x.gguf"}})", "'/nowhere/x.gguf' is not a model file"},
      {R"({"a":{"checkpoint":"nobody"}})", "nobody"},
      {R"({"a":7})", "it needs a 'checkpoint'"},
  };
  for (const auto& [text, reason] : cases) {
    write(text);
    const auto refused = scanned()->find("a");
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message, HasSubstr(reason));
    EXPECT_THAT(names(*scanned()), ElementsAre("chat"));
  }
  write("{\"a\":");
  EXPECT_EQ(scanned()->problems().size(), 1u);
  EXPECT_THAT(names(*scanned()), ElementsAre("chat"));
}

TEST_F(UserModelsTest, AProgramThatReadsAFileTakesTheNameOfAModel) {
  const auto catalog =
      scanned({{.name = "by-name", .checkpoint = "chat", .recipe = "vllm", .labels = {}, .reads_file = true},
               {.name = "other-name", .checkpoint = "chat", .recipe = "vllm", .labels = {}, .configured = true}});
  EXPECT_THAT(names(*catalog), ElementsAre("by-name", "chat", "other-name"));
  const auto by_name = *catalog->find("by-name");
  EXPECT_THAT(by_name->paths, ElementsAre(dir_ / "models/chat.gguf"));
  EXPECT_EQ(by_name->recipe, "vllm");
  EXPECT_THAT((*catalog->find("other-name"))->paths, IsEmpty());
  EXPECT_EQ((*catalog->find("other-name"))->checkpoint, "chat");
}

TEST_F(UserModelsTest, ARecipeOfTheUserIsKnownFromTheTable) {
  write(R"({"a":{"checkpoint":"x","recipe":"mine"}})");
  const auto table = RecipeTable().with({{.name = "mine", .types = {ModelType::embedding}, .program = "my-server"}});
  const RegistryOptions options{
      .models_dirs = {dir_ / "models"}, .hub_cache = {}, .user_models = dir_ / "user_models.json", .recipes = table};
  EXPECT_FALSE(scanned()->find("a"));
  EXPECT_EQ((*scan(options, nullptr).catalog->find("a"))->type, ModelType::embedding);
}

TEST_F(UserModelsTest, AModelHasTheAbilitiesThatItsEntryDeclares) {
  const Declared declared{.context = 4096, .tools = true, .vision = true};
  const auto catalog = scanned(
      {{.name = "x", .checkpoint = "y", .recipe = "vllm", .labels = {}, .configured = true, .declared = declared}});
  const auto model = *catalog->find("x");
  EXPECT_EQ(model->traits.context_length, 4096u);
  EXPECT_TRUE(model->traits.tools);
  EXPECT_TRUE(takes_pictures(*model));
  EXPECT_THAT(model->labels, ElementsAre("tool-calling", "vision"));
}

}  // namespace
}  // namespace corral::models
