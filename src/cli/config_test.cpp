#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ConfigCommandTest : public ProgramTest {
 protected:
  void shows(const std::string& problem) {
    server_.on(
        "GET /internal/config",
        R"({"settings":{"port":{"value":8000,"where":"--port"},"models_dir":{"value":["/a","/b"],"where":"default"},)"
        R"("auto_evict_threshold_pct":{"value":0.9,"where":"default","after_restart":0.5}},"problem":)" +
            problem + "}");
  }
};

TEST_F(ConfigCommandTest, ListsEverySettingWithItsOrigin) {
  shows("null");
  EXPECT_EQ(run({"config"}), 0);
  EXPECT_EQ(out(),
            "SETTING                   VALUE  FROM     AFTER A RESTART\n"
            "port                      8000   --port\n"
            "models_dir                /a:/b  default\n"
            "auto_evict_threshold_pct  0.9    default  0.5\n");
  EXPECT_EQ(err(), "");
}

// Colons of addresses were between addresses.
TEST_F(ConfigCommandTest, ListsAreShownAsTheyAreSet) {
  server_.on("GET /internal/config",
             R"({"settings":{"allowed_origins":{"value":["http://localhost:3000","app://x"],"where":"default"}}})");
  EXPECT_EQ(run({"config", "--columns", "value"}), 0);
  EXPECT_EQ(out(), "VALUE\nhttp://localhost:3000 app://x\n");
}

TEST_F(ConfigCommandTest, ABrokenFileIsNotPassedOver) {
  shows(R"("config.toml:1: no")");
  EXPECT_EQ(run({"config"}), 0);
  EXPECT_EQ(err(), "warning: configuration file ignored: config.toml:1: no\n");
}

TEST_F(ConfigCommandTest, SetSendsJsonWhereItIsSome) {
  server_.on(
      "POST /internal/set",
      R"({"status":"success","updated":{"port":9000,"log_level":"debug"},"applies":{"port":"restart","log_level":"now"}})");
  EXPECT_EQ(run({"config", "set", "port=9000", "log_level=debug", "max_loaded_models=5 2 4", "ctx_size=null"}), 0);
  EXPECT_THAT(server_.bodies("POST /internal/set"),
              ElementsAre(R"({"port":9000,"log_level":"debug","max_loaded_models":"5 2 4","ctx_size":null})"));
  EXPECT_EQ(out(), "port is 9000 after a restart of the server\nlog_level is debug now\n");
}

TEST_F(ConfigCommandTest, SetWithoutAnAssignmentIsAMisuse) {
  EXPECT_EQ(run({"config", "set", "port"}), 2);
  EXPECT_EQ(err(), "corral: 'port' is not KEY=VALUE\n");
  EXPECT_EQ(run({"config", "set"}), 2);
  EXPECT_EQ(err(),
            "corral: ASSIGNMENT is required: KEY=VALUE, such as port=8080; if the server rejects one, the others are "
            "set, and the exit code is 1\n"
            "see: corral config set --help\n");
  EXPECT_TRUE(server_.requests.empty());
}

TEST_F(ConfigCommandTest, RefusalsAreShown) {
  server_.on("POST /internal/set", Scripted{.status = 409, .body = R"({"error":{"message":"fixed by --port"}})"});
  EXPECT_EQ(run({"config", "set", "port=1", "--json"}), 1);
  EXPECT_THAT(out(), HasSubstr("fixed by --port"));
}

// One setting that a flag fixes prevented all others.
TEST_F(ConfigCommandTest, SettingsThatTheServerAcceptsAreSet) {
  const auto sets = [&](int status, const std::string& body) {
    server_.on("POST /internal/set", Scripted{.status = static_cast<unsigned>(status), .body = body});
  };
  const std::string fixed = R"({"error":{"message":"fixed by --port"}})";
  sets(409, fixed);
  sets(409, fixed);
  sets(200, R"({"updated":{"log_level":"info"},"applies":{"log_level":"now"}})");
  EXPECT_EQ(run({"config", "set", "port=null", "log_level=null"}), kExitFailed);
  EXPECT_THAT(server_.bodies("POST /internal/set"),
              ElementsAre(R"({"port":null,"log_level":null})", R"({"port":null})", R"({"log_level":null})"));
  EXPECT_EQ(out(), "log_level is info now\n");
  EXPECT_EQ(err(), "corral: port is not set: fixed by --port\n");
  server_.answers.clear();
  sets(409, fixed);
  sets(200, R"({"updated":{}})");
  sets(409, fixed);
  EXPECT_EQ(run({"config", "set", "port=null", "log_level=null", "--json"}), kExitFailed);
  EXPECT_EQ(out(), "{\"updated\":{}}\n" + fixed + "\n");
}

TEST_F(ConfigCommandTest, GetPrintsOneValue) {
  shows("null");
  EXPECT_EQ(run({"config", "get", "port"}), kExitOk);
  EXPECT_EQ(out(), "8000\n");
  EXPECT_EQ(err(), "");
  EXPECT_EQ(run({"config", "get", "models_dir", "--json"}), kExitOk);
  EXPECT_EQ(out(), R"({"models_dir":{"value":["/a","/b"],"where":"default"}})"
                   "\n");
  EXPECT_EQ(run({"config", "get", "auto_evict_threshold_pct"}), kExitOk);
  EXPECT_EQ(out(), "0.9\n");
  EXPECT_EQ(err(), "after a restart of the server: 0.5\n");
  EXPECT_EQ(run({"config", "get", "prot"}), kExitUsage);
  EXPECT_EQ(err(), "corral: there is no setting 'prot'; did you mean port?\n");
  EXPECT_EQ(run({"config", "get"}), kExitUsage);
}

// Every command ended with the error.
TEST_F(ConfigCommandTest, AnInvalidFileIsAWarningOfEveryCommand) {
  const auto home = std::filesystem::path(testing::TempDir()) / "corral-broken-config";
  std::filesystem::create_directories(home / "corral");
  std::ofstream(home / "corral/config.toml") << "port = 8001\nhost = \n";
  variables_["XDG_CONFIG_HOME"] = home;
  server_.on("GET /api/v1/models?rescan=true", R"({"data":[{"id":"m"}]})");
  EXPECT_EQ(run({"list"}), 0);
  EXPECT_THAT(out(), HasSubstr("\nm "));
  EXPECT_THAT(err(), testing::StartsWith("warning: " + (home / "corral/config.toml").native() + ":2:"));
  EXPECT_THAT(err(), HasSubstr(": not valid TOML: "));
  EXPECT_THAT(err(), testing::EndsWith("; using the server at http://127.0.0.1:8000\n"));
  EXPECT_EQ(run({"serve"}), 2);
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace corral::cli
