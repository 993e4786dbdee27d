// `corral logs`.
#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using testing::HasSubstr;

class LogsCommandTest : public ProgramTest {};

TEST_F(LogsCommandTest, PrintsTheLinesOfTheServer) {
  server_.on("GET /api/v1/logs", "one\ntwo \x1b[2J\n");
  EXPECT_EQ(run({"logs"}), kExitOk);
  EXPECT_EQ(out(), "one\ntwo [2J\n");
  pipe_everything();
  EXPECT_EQ(run({"logs"}), kExitOk);
  EXPECT_EQ(out(), "one\ntwo \x1b[2J\n");
  EXPECT_EQ(run({"logs", "--json"}), kExitOk);
  EXPECT_EQ(out(), "{\"lines\":[\"one\",\"two \\u001b[2J\"]}\n");
}

TEST_F(LogsCommandTest, AModelWithoutAProcessHasNone) {
  server_.on("GET /api/v1/logs?model=org%2Fa%20b&lines=5", "");
  EXPECT_EQ(run({"logs", "org/a b", "-n", "5"}), kExitOk);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "No process of org/a b has written a line\n");
}

TEST_F(LogsCommandTest, FollowsUntilCtrlC) {
  server_.on("GET /api/v1/logs?model=tiny&lines=2&follow=true",
             Scripted{.events = {{"lines", R"({"process":"engine-1","lines":["one","two"]})"},
                                 {"lines", R"({"process":"engine-1","lines":[]})"},
                                 {"other", "{}"},
                                 {"lines", "broken"},
                                 {"lines", R"({"process":"engine-2","lines":["three"],"missed":7})"}},
                      .error = Error{errc::interrupted, "interrupted"}});
  EXPECT_EQ(run({"logs", "tiny", "-f", "-n", "2"}), kExitInterrupted);
  EXPECT_EQ(out(), "one\ntwo\nthree\n");
  EXPECT_EQ(err(), "(now the output of engine-2)\n(7 lines are missing here)\n\n");
  EXPECT_EQ(run({"logs", "tiny", "-f", "-n", "2", "--json"}), kExitInterrupted);
  EXPECT_THAT(out(), testing::StartsWith("{\"process\":\"engine-1\",\"lines\":[\"one\",\"two\"]}\n"));
}

TEST_F(LogsCommandTest, ARefusalIsPrintedInTheServersWords) {
  server_.on("GET /api/v1/logs?model=nope", Scripted{.status = 404, .body = R"({"error":{"message":"no model"}})"});
  server_.on("GET /api/v1/logs?model=nope&follow=true",
             Scripted{.status = 404, .body = R"({"error":{"message":"no model"}})"});
  EXPECT_EQ(run({"logs", "nope"}), kExitFailed);
  EXPECT_EQ(err(), "corral: no model\n");
  EXPECT_EQ(run({"logs", "nope", "-f"}), kExitFailed);
  EXPECT_EQ(err(), "corral: no model\n");
}

TEST_F(LogsCommandTest, TheNumberOfLinesHasALimit) {
  EXPECT_EQ(run({"logs", "-n", "1001"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("1001"));
  EXPECT_TRUE(server_.requests.empty());
}

}  // namespace
}  // namespace corral::cli
