#include "models/names/name_store.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/gguf/gguf_test_writer.h"
#include "models/registry.h"
#include "models/temp_dir_for_tests.h"

namespace corral::models {
namespace {

class NameStoreTest : public testing::Test {
 protected:
  NameStoreTest() {
    GgufWriter::model("llama").save(dir_ / "models/a.gguf");
    GgufWriter::model("qwen3").save(dir_ / "models/b.gguf");
  }
  std::shared_ptr<const Catalog> look() {
    RegistryOptions options;
    options.models_dirs = {dir_ / "models"};
    options.user_models = dir_ / "user.json";
    options.aliases = dir_ / "aliases.json";
    return scan(options, nullptr).catalog;
  }
  std::string called(std::string_view name) {
    const auto found = look()->find(name);
    return found ? (*found)->name.value() : "";
  }
  void write(const char* file, const char* text) const { std::ofstream(dir_ / file) << text; }
  std::string read(const char* file) const {
    std::ifstream in(dir_ / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const TempDir dir_;
  NameStore store_{dir_ / "user.json", dir_ / "aliases.json"};
};

TEST_F(NameStoreTest, AnEntryIsFoundAndTakenAway) {
  write("user.json", R"({"user.old":{"checkpoint":"a","image_defaults":{"steps":4}},"user.mine":{"checkpoint":"b"}})");
  ASSERT_TRUE(store_.put({"mine", "a", "llamacpp", {"coding"}}));
  EXPECT_EQ(called("mine"), "mine");
  EXPECT_THAT(read("user.json"), testing::HasSubstr("steps"));  // what somebody else wrote stays
  EXPECT_EQ(store_.user_models(RecipeTable()).models.size(), 2u);
  EXPECT_EQ(store_.remove("mine"), true);
  EXPECT_EQ(store_.remove("mine"), false);
  EXPECT_EQ(called("mine"), "");
}

TEST_F(NameStoreTest, AnAliasMeansAModelWhileItIsThere) {
  ASSERT_TRUE(store_.put_alias("chat", {"a"}));
  EXPECT_EQ(called("chat"), "a");
  ASSERT_TRUE(store_.put_alias("chat", {"gone"}));
  EXPECT_EQ(called("chat"), "");
  EXPECT_EQ(store_.remove_alias("chat"), true);
  EXPECT_EQ(store_.remove_alias("chat"), false);
}

TEST_F(NameStoreTest, AnAliasKeepsItsDefaults) {
  ASSERT_TRUE(store_.put_alias("plain", {"a"}));
  ASSERT_TRUE(store_.put_alias("coder", {"a", R"({"temperature":0.2})"}));
  EXPECT_EQ(called("coder"), "a");
  EXPECT_EQ(store_.aliases().at("coder"), (Alias{"a", R"({"temperature":0.2})"}));
  EXPECT_EQ(store_.aliases().at("plain"), Alias{"a"});
  EXPECT_FALSE(store_.put_alias("broken", {"a", "{"}));
  write("aliases.json",
        R"({"old":"a","new":{"model":"a"},"odd":{"defaults":{}},"wrong":7,"list":{"model":"a","defaults":[]}})");
  const auto read = store_.aliases();
  EXPECT_EQ(read.size(), 3u);
  EXPECT_EQ(read.at("new"), Alias{"a"});
  EXPECT_EQ(read.at("list"), Alias{"a"});
}

TEST_F(NameStoreTest, ANameOfAModelCountsMoreThanAnAlias) {
  ASSERT_TRUE(store_.put_alias("b", {"a"}));
  EXPECT_EQ(called("b"), "b");
}

TEST_F(NameStoreTest, AFileThatIsNoObjectIsntWrittenOver) {
  write("user.json", "[1]");
  write("aliases.json", "{");
  EXPECT_FALSE(store_.put({"mine", "a", "llamacpp", {}}));
  EXPECT_FALSE(store_.put_alias("chat", {"a"}));
  EXPECT_EQ(read("user.json"), "[1]");
  EXPECT_EQ(read("aliases.json"), "{");
}

}  // namespace
}  // namespace corral::models
