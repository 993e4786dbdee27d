#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <unistd.h>

#include "cli/fakes_for_tests.h"
#include "config/files/key_file.h"

namespace corral::cli {
namespace {

using testing::HasSubstr;

class KeyTest : public ProgramTest {
 protected:
  KeyTest() {
    auto name = (std::filesystem::path(testing::TempDir()) / "corral-key-XXXXXX").native();
    home_ = ::mkdtemp(name.data());
    variables_["HOME"] = home_.string();
  }
  ~KeyTest() override { std::filesystem::remove_all(home_); }

  std::filesystem::path home_;
};

TEST_F(KeyTest, PrintsTheKeyOnceAndNothingElseToAPipe) {
  EXPECT_EQ(run({"key", "create", "--name", "laptop"}), 0);
  const auto key = out();
  EXPECT_TRUE(key.starts_with("corral-") && key.size() == 69u) << key;
  EXPECT_THAT(err(), HasSubstr("shown only once"));
  EXPECT_TRUE(server_.requests.empty());
  EXPECT_EQ(run({"key", "list"}), 0);
  EXPECT_THAT(out(), HasSubstr("laptop  inference  2023-11-"));
  EXPECT_THAT(out(), HasSubstr("never"));
  EXPECT_THAT(out(), testing::Not(HasSubstr(key.substr(16, 30))));
  const auto file = home_ / ".local/state/corral/keys.json";
  const auto keys = config::read_key_file(file);
  ASSERT_TRUE(keys && *keys);
  EXPECT_EQ((*keys)->keys.at(0).digest, config::digest_of((*keys)->salt, key.substr(0, 68)));
}

TEST_F(KeyTest, HowItSharesIsKeptWithTheKey) {
  EXPECT_EQ(run({"key", "create", "--max-in-flight", "4", "--background", "--json"}), 0);
  EXPECT_THAT(out(), HasSubstr(R"("max_in_flight":4,"priority":"background")"));
  const auto keys = config::read_key_file(home_ / ".local/state/corral/keys.json");
  ASSERT_TRUE(keys && *keys);
  EXPECT_EQ((*keys)->keys.at(0).terms, (config::KeyTerms{.max_in_flight = 4, .background = true}));
  EXPECT_EQ(run({"key", "create", "--max-in-flight", "-1"}), 2);
}

TEST_F(KeyTest, ScopesAreSaidInAnyOfTheUsualWays) {
  EXPECT_EQ(run({"key", "create", "--scope", "admin", "--scope", "inference", "--json"}), 0);
  EXPECT_THAT(out(), HasSubstr(R"("scopes":["inference","admin"])"));
  EXPECT_EQ(run({"key", "create", "--scope", "inference,admin", "--json"}), 0);
  EXPECT_THAT(out(), HasSubstr(R"("scopes":["inference","admin"])"));
  EXPECT_EQ(run({"key", "create", "--scope", "admin", "--json"}), 0);
  EXPECT_THAT(out(), HasSubstr(R"("scopes":["admin"])"));
  EXPECT_EQ(run({"key", "create", "--scope", "root"}), 2);
  EXPECT_THAT(err(), HasSubstr("unknown scope 'root'"));
  EXPECT_EQ(run({"key"}), 2);
}

TEST_F(KeyTest, RevokesInTheFolderThatIsNamed) {
  const auto folder = (home_ / "elsewhere").string();
  EXPECT_EQ(run({"key", "create", "--state-dir", folder, "--name", "x"}), 0);
  EXPECT_EQ(run({"key", "revoke", "x"}), 2);
  EXPECT_THAT(err(), HasSubstr("unknown key 'x'"));
  EXPECT_EQ(run({"key", "revoke", "x", "--state-dir", folder}), 0);
  EXPECT_THAT(out(), HasSubstr("is revoked"));
  EXPECT_THAT(err(), HasSubstr("no key is left"));
  EXPECT_EQ(run({"key", "list", "--state-dir", folder, "--json"}), 0);
  EXPECT_EQ(out(), "{\"keys\":[]}\n");
}

}  // namespace
}  // namespace corral::cli
