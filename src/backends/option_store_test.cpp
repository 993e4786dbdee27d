#include "backends/option_store.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/errors.h"
#include "base/log.h"

namespace corral::backends {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ModelName kA("org/a:Q8_0"), kB("b");

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    log::set_level(log::Level::none);
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::path(::testing::TempDir()) / (std::string("corral_options_") + test->name());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  ~StoreTest() override { fs::remove_all(dir_); }

  fs::path file() const { return dir_ / "state/recipe_options.json"; }
  std::string text() const {
    std::ifstream stream(file());
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& text) const {
    fs::create_directories(file().parent_path());
    std::ofstream(file()) << text;
  }
  OptionStore store() const { return OptionStore(file()); }

  fs::path dir_;
};

LoadOptions context_of(std::int64_t tokens) {
  LoadOptions options;
  options.ctx_size = tokens;
  return options;
}

TEST_F(StoreTest, WhatIsSavedIsThereForTheNextOne) {
  {
    auto first = store();
    auto options = context_of(2048);
    options.auto_evict = true;
    options.evict_idle_timeout = Millis(1500);
    options.park_dir = "/not/for/a/request";
    ASSERT_TRUE(first.save(kA, options));
    ASSERT_TRUE(first.pin(kB, true));
  }
  auto second = store();
  auto expected = context_of(2048);
  expected.auto_evict = true;
  expected.evict_idle_timeout = Millis(1500);
  EXPECT_EQ(second.of(kA), expected);
  EXPECT_EQ(second.of(kB), LoadOptions());
  EXPECT_THAT(second.pins(), ElementsAre(kB));
  EXPECT_EQ(text(),
            "{\n  \"b\": {\"pinned\":true},\n  \"org/a:Q8_0\": "
            "{\"ctx_size\":2048,\"auto_evict\":true,\"evict_idle_timeout\":1.5}\n}\n");
}

TEST_F(StoreTest, NothingSavedLeavesNoEntry) {
  auto saved = store();
  ASSERT_TRUE(saved.save(kA, context_of(1)));
  ASSERT_TRUE(saved.pin(kA, true));
  ASSERT_TRUE(saved.save(kA, {}));
  EXPECT_TRUE(saved.pinned(kA)) << "a pin is no option";
  ASSERT_TRUE(saved.pin(kA, false));
  EXPECT_EQ(text(), "{\n}\n");
}

TEST_F(StoreTest, WhatOthersSavedIsReadAndKept) {
  write(
      R"({"b": {"llamacpp_args": "-c 512 -np 2", "ctx_size": 1024, "flm_args": "x", "threads": "many", "speculative": 99}, "c": 1})");
  auto saved = store();
  EXPECT_EQ(saved.of(kB).ctx_size, 1024);
  EXPECT_EQ(saved.of(kB).llamacpp_args, "-c 512 -np 2") << "as it was given";
  EXPECT_FALSE(saved.of(kB).threads);
  EXPECT_FALSE(saved.of(kB).speculative);
  ASSERT_TRUE(saved.pin(kB, true));
  EXPECT_THAT(text(), HasSubstr(R"("flm_args":"x")"));
  EXPECT_THAT(text(), HasSubstr(R"("llamacpp_args":"-c 512 -np 2")"));
  EXPECT_EQ(store().of(kB), saved.of(kB));
}

TEST_F(StoreTest, FlagsWithoutAnEqualDontCountAndStayUntilOthersAreSaved) {
  write(R"({"b": {"llamacpp_args": "--rope-scale 2"}})");
  auto saved = store();
  EXPECT_EQ(saved.of(kB), LoadOptions());
  ASSERT_TRUE(saved.pin(kB, true));
  EXPECT_THAT(text(), HasSubstr("--rope-scale"));
  ASSERT_TRUE(saved.save(kB, {}));
  EXPECT_EQ(text(), "{\n  \"b\": {\"pinned\":true}\n}\n");
}

TEST_F(StoreTest, AModelMayStandUnderItsNameAsOtherServersWriteIt) {
  write(
      R"({"user.b": {"ctx_size": 64}, "builtin.org/a:Q8_0": {"pinned": true}, "extra.c": {"ctx_size": 1}, "c": {"ctx_size": 2}})");
  auto saved = store();
  EXPECT_EQ(saved.of(kB).ctx_size, 64);
  EXPECT_TRUE(saved.pinned(kA));
  EXPECT_THAT(saved.pins(), testing::Contains(kA));
  EXPECT_EQ(saved.of(ModelName("c")).ctx_size, 2) << "its own name goes before";
  EXPECT_EQ(saved.of(ModelName("extra.c")).ctx_size, 1);
  EXPECT_EQ(saved.all().at(kB).ctx_size, 64);
  ASSERT_TRUE(saved.save(kB, context_of(65)));
  ASSERT_TRUE(saved.pin(kA, false));
  EXPECT_EQ(text(), "{\n  \"b\": {\"ctx_size\":65},\n  \"c\": {\"ctx_size\":2},\n  \"extra.c\": {\"ctx_size\":1}\n}\n");
  EXPECT_THAT(store().pins(), testing::IsEmpty());
}

TEST_F(StoreTest, AFileThatIsNoJsonIsPutAside) {
  write("{\"b\": {\"ctx_si");
  auto saved = store();
  EXPECT_EQ(saved.of(kB), LoadOptions());
  EXPECT_TRUE(fs::exists(file().native() + ".broken"));
  ASSERT_TRUE(saved.save(kB, context_of(1)));
  write("[]");
  store();
  EXPECT_TRUE(fs::exists(file().native() + ".broken-2")) << "the first one is not lost";
}

TEST_F(StoreTest, WhatCantBeWrittenDoesntCount) {
  std::ofstream(dir_ / "state") << "a file where the folder should be";
  auto saved = store();
  const auto kept = saved.save(kB, context_of(1));
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, errc::not_saved);
  EXPECT_EQ(saved.of(kB), LoadOptions());
}

}  // namespace
}  // namespace corral::backends
