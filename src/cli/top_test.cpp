// `corral top`.
#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?7l\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?7h\x1b[?1049l";

class TopTest : public ProgramTest {
 protected:
  void shows(const std::string& models, const std::string& requests) {
    server_.on("GET /api/v1/health", R"({"version":"0.1.0","all_models_loaded":[)" + models + "]}");
    server_.on("GET /api/v1/memory",
               R"({"pools":[{"id":"ram","name":"RAM","total_bytes":2147483648,"available_bytes":1073741824}]})");
    server_.on("GET /api/v1/requests", R"({"requests":[)" + requests + "]}");
  }
};

TEST_F(TopTest, IsDrawnAgainUntilCtrlCAndLeavesNothing) {
  shows(R"({"model_name":"one"})", "");
  server_.on("GET /api/v1/health", R"({"version":"0.1.0","all_models_loaded":[{"model_name":"two"}]})");
  server_.pauses_before_ctrl_c = 1;
  EXPECT_EQ(run({"top"}), kExitOk);
  EXPECT_THAT(out(), AllOf(StartsWith(std::string(kEnter) + "\x1b[H"
                                                            "corral 0.1.0 at http://127.0.0.1:8000, RAM"),
                           EndsWith("\x1b[K\x1b[J" + std::string(kLeave)), HasSubstr("one "), HasSubstr("two ")));
  EXPECT_EQ(err(), "");
  EXPECT_EQ(server_.requests.size(), 6u);
}

TEST_F(TopTest, IsNeverHigherThanTheScreen) {
  shows(R"({"model_name":"one"},{"model_name":"two"})", "");
  surroundings_.terminal.height = 4;
  EXPECT_EQ(run({"top"}), kExitOk);
  EXPECT_THAT(out(), AllOf(HasSubstr("one "), Not(HasSubstr("two "))));
}

TEST_F(TopTest, WithoutATerminalItIsPrintedOnce) {
  pipe_everything();
  shows(R"({"model_name":"one"})", R"({"id":"req-1","model":"one","status":"running","age_ms":3})");
  EXPECT_EQ(run({"top"}), kExitOk);
  EXPECT_THAT(out(), AllOf(StartsWith("corral 0.1.0 at http://127.0.0.1:8000, RAM 1.0 GiB of 2.0 GiB free\n\nNAME"),
                           HasSubstr("\n\nMODEL  ID     STATE"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(run({"top", "--json"}), kExitOk);
  EXPECT_THAT(out(), AllOf(StartsWith("{\"version\""), HasSubstr("\n{\"pools\""), HasSubstr("\n{\"requests\"")));
}

TEST_F(TopTest, AnIdleServerHasAPageToo) {
  shows("", "");
  EXPECT_EQ(run({"top"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("No model is in memory"));
  EXPECT_EQ(err(), "");
}

TEST_F(TopTest, TheEndOfTheServerIsAnErrorOnACleanScreen) {
  shows("", "");
  server_.on("GET /api/v1/health", Scripted{.error = Error{errc::no_server, "gone"}});
  server_.pauses_before_ctrl_c = 5;
  EXPECT_EQ(run({"top"}), kExitNoServer);
  EXPECT_THAT(out(), EndsWith(kLeave));
  EXPECT_EQ(err(), "corral: gone\n");
}

}  // namespace
}  // namespace corral::cli
