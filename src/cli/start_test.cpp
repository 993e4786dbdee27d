// run --start: a server for the time of one command.
#include <fstream>

#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"
#include "cli/server/server_starter.h"

namespace corral::cli {
namespace {

using testing::ElementsAre;

constexpr const char* kTwoLines =
    "corral: no corral server responds at http://127.0.0.1:8000: start one with corral serve, or only for this command "
    "with --start\n"
    "then corral run lists models that fit this machine, and downloads the one you choose\n";

class StartTest : public ProgramTest {
 protected:
  StartTest() {
    server_.on("GET /live", Scripted{.error = Error{errc::no_server, "no corral server responds"}});
    in_memory("m");
    answer_chat({"x"});
    surroundings_.start_server = [this](const Address& address,
                                        const config::Inputs&) -> Result<std::shared_ptr<void>> {
      started_.push_back(address.url());
      if (failure_) return std::unexpected(*failure_);
      runs_ = true;
      return std::shared_ptr<void>(&runs_, [](bool* runs) { *runs = false; });
    };
    server_.on("POST /api/v1/chat/completions", Scripted{.meanwhile = [this] { ran_during_chat_ = runs_; }});
  }

  std::vector<std::string> started_;
  std::optional<Error> failure_;
  bool runs_ = false, ran_during_chat_ = false;
};

TEST_F(StartTest, AServerIsStartedAndEndsWithTheCommand) {
  EXPECT_EQ(run({"run", "m", "p", "--start"}), kExitOk);
  EXPECT_EQ(out(), "x\n");
  EXPECT_EQ(err(), "A server runs at http://127.0.0.1:8000 until this command ends.\n");
  EXPECT_THAT(started_, ElementsAre("http://127.0.0.1:8000"));
  EXPECT_FALSE(runs_);
  run({"run", "m", "p", "--start"});
  EXPECT_TRUE(ran_during_chat_);
  EXPECT_FALSE(runs_);
}

TEST_F(StartTest, AServerThatRunsIsLeftAlone) {
  server_.answers.erase("GET /live");
  server_.on("GET /live", R"({"status":"ok"})");
  EXPECT_EQ(run({"run", "m", "p", "--start"}), kExitOk);
  EXPECT_THAT(started_, ElementsAre());
}

TEST_F(StartTest, AtATerminalItIsAQuestion) {
  input_.type("");
  EXPECT_EQ(run({"run", "m", "p"}), kExitOk);
  EXPECT_EQ(err(),
            "No corral server responds at http://127.0.0.1:8000. Start one until this command ends? [Y/n] "
            "A server runs at http://127.0.0.1:8000 until this command ends.\n");
  input_.type("n");
  EXPECT_EQ(run({"run", "m", "p"}), kExitNoServer);
  EXPECT_EQ(err(), "No corral server responds at http://127.0.0.1:8000. Start one until this command ends? [Y/n] " +
                       std::string(kTwoLines));
  input_.press_ctrl_c();
  EXPECT_EQ(run({"run", "m", "p"}), kExitInterrupted);
  EXPECT_EQ(started_.size(), 1u);
}

TEST_F(StartTest, WithoutATerminalTheTwoWaysAreNamed) {
  pipe_everything();
  EXPECT_EQ(run({"run", "m", "p"}), kExitNoServer);
  EXPECT_EQ(err(), kTwoLines);
  surroundings_.service_file = std::filesystem::path(testing::TempDir()) / "corral-start-test-service.toml";
  std::ofstream(surroundings_.service_file) << "";
  EXPECT_EQ(run({"run", "m", "p"}), kExitNoServer);
  EXPECT_THAT(err(), testing::HasSubstr("start one with sudo systemctl start corral, or only for this command"));
  std::filesystem::remove(surroundings_.service_file);
}

TEST_F(StartTest, OnlyOnThisMachine) {
  server_.url = "http://gpu-box:8000";
  EXPECT_EQ(run({"run", "m", "p", "--start"}), kExitNoServer);
  EXPECT_EQ(err(), "corral: no corral server responds\n");
  EXPECT_THAT(started_, ElementsAre());
}

TEST_F(StartTest, AStartThatFails) {
  failure_.emplace(errc::no_server, "the server could not be started: state_dir is full (log: /x)");
  EXPECT_EQ(run({"run", "m", "p", "--start"}), kExitNoServer);
  EXPECT_EQ(err(), "corral: the server could not be started: state_dir is full (log: /x)\n");
}

TEST(ServerWords, TheServerGetsTheAddressAndTheFileOfTheCommand) {
  config::Inputs inputs;
  Address address{"127.0.0.1", 8001, "", ""};
  EXPECT_THAT(words_of_server(address, inputs), ElementsAre("serve", "--host", "127.0.0.1", "--port", "8001"));
  inputs.config_file = "/x/my.toml";
  address.host = "::1";
  EXPECT_THAT(words_of_server(address, inputs),
              ElementsAre("serve", "--host", "::1", "--port", "8001", "--config", "/x/my.toml"));
}

}  // namespace
}  // namespace corral::cli
