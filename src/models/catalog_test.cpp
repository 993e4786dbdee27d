#include "models/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/errors.h"
#include "models/names/aliases.h"

namespace corral::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelInfo model(std::string name, std::vector<std::string> aliases = {}) {
  ModelInfo info;
  info.name = ModelName(std::move(name));
  for (std::string& alias : aliases) info.aliases.emplace_back(std::move(alias));
  return info;
}

Problem problem(std::string name, errc cause) {
  return {ModelName(name), "/dir/" + name + ".gguf", Error(make_error_code(cause), "because of " + name)};
}

std::string name_of(const Result<Catalog::Model>& found) {
  return found ? (*found)->name.value() : found.error().message;
}

TEST(Catalog, ListsInOrder) {
  const Catalog catalog({model("b"), model("C"), model("a")}, {}, {});
  std::vector<std::string> names;
  for (const auto& info : catalog.models()) names.push_back(info->name.value());
  EXPECT_THAT(names, ElementsAre("a", "b", "C"));
}

TEST(Catalog, FindsByExactCaseFirst) {
  const Catalog catalog({model("Tiny"), model("tiny"), model("org/Repo:Q8_0", {"org/Repo"})}, {}, {});
  EXPECT_EQ(name_of(catalog.find("Tiny")), "Tiny");
  EXPECT_EQ(name_of(catalog.find("tiny")), "tiny");
  EXPECT_EQ(name_of(catalog.find("TINY")), "Tiny") << "the first in the list";
  EXPECT_EQ(name_of(catalog.find("org/repo:q8_0")), "org/Repo:Q8_0");
}

TEST(Catalog, FindsByAliasAndDecoratedNames) {
  const Catalog catalog({model("tiny"), model("user.odd"), model("org/repo:Q8_0", {"org/repo"})}, {}, {});
  EXPECT_EQ(name_of(catalog.find("org/repo")), "org/repo:Q8_0");
  EXPECT_EQ(name_of(catalog.find("org/repo:latest")), "org/repo:Q8_0");
  EXPECT_EQ(name_of(catalog.find("tiny:latest")), "tiny");
  EXPECT_EQ(name_of(catalog.find("extra.tiny")), "tiny");
  EXPECT_EQ(name_of(catalog.find("user.tiny:LATEST")), "tiny");
  EXPECT_EQ(name_of(catalog.find("user.odd")), "user.odd");
}

TEST(Catalog, FindsAFileByItsName) {
  const Catalog catalog(
      {model("tiny"), model("org/repo:Q8_0", {"org/repo:file-Q8_0"}), model("big"), model("odd.gguf")}, {}, {});
  EXPECT_EQ(name_of(catalog.find("tiny.gguf")), "tiny");
  EXPECT_EQ(name_of(catalog.find("org/repo:file-Q8_0.gguf")), "org/repo:Q8_0");
  EXPECT_EQ(name_of(catalog.find("user.org/repo:file-Q8_0.GGUF")), "org/repo:Q8_0");
  EXPECT_EQ(name_of(catalog.find("big-00001-of-00003.gguf")), "big");
  EXPECT_EQ(name_of(catalog.find("odd.gguf")), "odd.gguf");
  EXPECT_EQ(catalog.find(".gguf").error().code, errc::model_not_found);
}

TEST(Catalog, AliasesNeverHideNames) {
  const Catalog catalog({model("a", {"b", "c"}), model("b", {"c", "b"})}, {}, {});
  EXPECT_EQ(name_of(catalog.find("b")), "b");
  EXPECT_EQ(name_of(catalog.find("c")), "a");
  EXPECT_THAT(catalog.models()[0]->aliases, ElementsAre(ModelName("c")));
  EXPECT_THAT(catalog.models()[1]->aliases, testing::IsEmpty());
}

TEST(Catalog, FindsTheUsersAliasOfASpelling) {
  const auto catalog =
      add_aliases(Catalog({model("tiny"), model("other", {"automatic"})}, {}, {}), {{"CHAT", {"other"}},
                                                                                    {"Chat", {"tiny"}},
                                                                                    {"chat", {"tiny"}},
                                                                                    {"a", {"other"}},
                                                                                    {"z", {"tiny"}},
                                                                                    {"b", {"absent"}}});
  const auto alias_of = [&](std::string_view name) {
    const auto* const alias = catalog.find_alias(name);
    return alias == nullptr ? "none" : alias->name.value() + " of " + alias->model.value();
  };
  EXPECT_EQ(alias_of("chat"), "chat of tiny");
  EXPECT_EQ(alias_of("Chat:latest"), "Chat of tiny");
  EXPECT_EQ(alias_of("CHAT"), "CHAT of other");
  EXPECT_EQ(alias_of("user.A"), "a of other");
  EXPECT_EQ(alias_of("Z.gguf"), "z of tiny");
  for (const auto* none : {"tiny", "automatic", "b", "c", ""}) EXPECT_EQ(alias_of(none), "none") << none;
}

TEST(Catalog, ContainsWhatItFinds) {
  const auto catalog =
      add_aliases(Catalog({model("tiny", {"other"})}, {problem("broken", errc::truncated)}, {}), {{"mine", {"tiny"}}});
  for (const auto* name : {"tiny", "TINY", "user.tiny:latest", "tiny.gguf", "other", "Mine", "broken", "absent", ""})
    EXPECT_EQ(catalog.contains(name), catalog.find(name).has_value()) << name;
  EXPECT_TRUE(catalog.contains("Mine"));
  EXPECT_FALSE(catalog.contains("broken"));
}

TEST(Catalog, UnknownNamesGetCloseOnes) {
  const Catalog catalog({model("tiny-llama"), model("tiny-moe")}, {}, {});
  const auto found = catalog.find("tiny-lama");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::model_not_found);
  EXPECT_EQ(found.error().param, "model");
  EXPECT_EQ(Catalog({}, {problem("x", errc::truncated)}, {}).find("x").error().param, "model");
  EXPECT_EQ(found.error().message, "no model 'tiny-lama': did you mean 'tiny-llama'?");
  EXPECT_EQ(catalog.find("gpt").error().message, "no model 'gpt'");
  EXPECT_THAT(Catalog().find("gpt").error().message, HasSubstr("--models-dir"));
  EXPECT_EQ(catalog.find("").error().code, errc::model_not_found);
}

TEST(Catalog, ModelsThatCannotBeLoadedSayWhy) {
  const Catalog catalog({model("good")}, {problem("broken", errc::truncated)}, {problem("lora", errc::not_a_model)});
  EXPECT_EQ(catalog.find("Broken:latest").error().code, errc::truncated);
  EXPECT_EQ(catalog.find("broken").error().message, "because of broken");
  EXPECT_EQ(catalog.find("lora").error().code, errc::not_a_model);
}

TEST(Errc, TableMatchesTheEnum) {
  EXPECT_EQ(make_error_code(errc::file_not_found).message(), "model_file_not_found");
  EXPECT_EQ(make_error_code(errc::missing_shard).message(), "model_file_not_found");
  EXPECT_EQ(make_error_code(errc::not_a_model).message(), "not_a_model");
  EXPECT_EQ(make_error_code(errc::model_not_found).message(), "model_not_found");
  EXPECT_EQ(kind_of(make_error_code(errc::model_not_found)), ErrorKind::not_found);
}

TEST(Catalog, ModelsOutliveIt) {
  Catalog::Model kept;
  {
    const Catalog catalog({model("kept")}, {}, {});
    kept = *catalog.find("kept");
  }
  EXPECT_EQ(kept->name, ModelName("kept"));
}

TEST(Catalog, KnownNamesFindWhatIsHereAndReplaceNoOtherName) {
  const auto catalog = add_known_names(
      Catalog({model("org/a:Q8_0"), model("org/b:x", {"taken"}), model("own")}, {}, {}), {{"short-a", "ORG/a:Q8_0"},
                                                                                          {"by-file", "org/b:x.gguf"},
                                                                                          {"taken", "org/a:Q8_0"},
                                                                                          {"Own", "org/a:Q8_0"},
                                                                                          {"absent", "org/c:Q8_0"}});
  EXPECT_EQ(name_of(catalog.find("Short-A")), "org/a:Q8_0");
  EXPECT_EQ(name_of(catalog.find("by-file")), "org/b:x");
  EXPECT_EQ(name_of(catalog.find("taken")), "org/b:x");
  EXPECT_EQ(name_of(catalog.find("own")), "own");
  EXPECT_FALSE(catalog.find("absent"));
}

}  // namespace
}  // namespace corral::models
