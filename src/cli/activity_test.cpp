// `corral activity`: what is asked for, and how rows are shown.
#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"
#include "cli/server/url_text.h"

namespace corral::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

class ActivityTest : public ProgramTest {
 protected:
  static constexpr const char* kRows = R"({"activity":[
    {"number":9,"id":"req-9","ended":1700000000000,"model":"tiny","key":"k1","key_name":"laptop","dialect":"anthropic",
     "path":"/v1/messages","client":"Anthropic/JS 0.70.0","prompt_tokens":120,"cached_tokens":100,"output_tokens":10,
     "first_token_ms":250,"duration_ms":1250,"status":200,"code":"ok"},
    {"number":8,"id":"req-8","ended":1700000000000,"model":"","key":"k2","key_name":"","dialect":"openai",
     "path":"/v1/chat/completions","client":"","prompt_tokens":null,"cached_tokens":null,"output_tokens":null,
     "first_token_ms":null,"duration_ms":3,"status":404,"code":"model_not_found"},
    {"number":7,"ended":1700000000000,"model":"tiny\u001b[2J","client":"a-name-that-is-much-too-long-for-its-column",
     "status":200,"code":"backend_died","duration_ms":9000}],"lost":2,"next":7})";

  std::vector<std::string> lines() const {
    std::vector<std::string> found;
    std::istringstream text(out());
    for (std::string line; std::getline(text, line);) found.push_back(line);
    return found;
  }
};

TEST_F(ActivityTest, ShowsWhatRequestsHaveComeTo) {
  pipe_everything();
  server_.on("GET /api/v1/activity", kRows);
  EXPECT_EQ(run({"activity"}), kExitOk);
  const std::string time = " +[0-9-]+ [0-9:]+ +";  // local
  EXPECT_THAT(
      lines(),
      ElementsAre(MatchesRegex("MODEL +TIME +KEY +DIALECT +CLIENT +STATUS +IN +OUT +FIRST +DURATION"),
                  MatchesRegex("tiny" + time + "laptop +anthropic +Anthropic/JS +200 +120 +10 +250 ms +1.2 s"),
                  MatchesRegex("-" + time + "k2 +openai +- +404 model_not_found +- +- +- +3 ms"),
                  MatchesRegex("tiny.?2J" + time + "- +- +a-name-that-is-much.+ +200 backend_died +- +- +- +9.0 s")));
  EXPECT_EQ(err(), "Older ones: --before 7\n2 requests were not recorded: the disk was too slow\n");
}

TEST_F(ActivityTest, AMeshHasAColumnOfItsNodes) {
  pipe_everything();
  server_.on("GET /api/v1/activity",
             R"({"activity":[{"model":"far","status":200,"duration_ms":3,"node":"0123456789abcdef","node_name":"attic"},
                                                     {"model":"near","status":200,"duration_ms":3}]})");
  EXPECT_EQ(run({"activity"}), kExitOk);
  EXPECT_THAT(lines(), ElementsAre(MatchesRegex("MODEL .* DURATION +NODE"), MatchesRegex("far .* +3 ms +attic"),
                                   MatchesRegex("near .* +3 ms +here")));
}

TEST_F(ActivityTest, NothingIsKnown) {
  server_.on("GET /api/v1/activity", R"({"activity":[],"lost":0})");
  EXPECT_EQ(run({"activity"}), kExitOk);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "No such request is recorded\n");
}

TEST_F(ActivityTest, EachFilterReachesTheServer) {
  const std::string path =
      "GET /api/v1/activity?model=org%2Fa%20b&key=lap%26top&status=5xx&code=backend_died&since=1699996400000&before=40"
      "&limit=3";
  server_.on(path, R"({"activity":[]})");
  EXPECT_EQ(run({"activity", "--model", "org/a b", "--key", "lap&top", "--status", "5xx", "--code", "backend_died",
                 "--since", "1h", "--before", "40", "--limit", "3"}),
            kExitOk);
  EXPECT_EQ(server_.bodies(path).size(), 1u);
}

TEST_F(ActivityTest, WhatMakesNoSenseIsAMisuse) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"--since", "soon"},
                                                                     {"--limit", "0"},
                                                                     {"--limit", "1001"},
                                                                     {"--before", "-1"},
                                                                     {"--before", "x"},
                                                                     {"more"}}) {
    auto words = arguments;
    words.insert(words.begin(), "activity");
    EXPECT_EQ(run(words), kExitUsage) << arguments.front();
    EXPECT_THAT(err(), HasSubstr(arguments.back()));
  }
  EXPECT_TRUE(server_.requests.empty());
}

TEST_F(ActivityTest, JsonIsWhatTheServerSaid) {
  server_.on("GET /api/v1/activity?limit=1", std::string(R"({"activity":[],"next":4})") + "\n");
  EXPECT_EQ(run({"activity", "--limit", "1", "--json"}), kExitOk);
  EXPECT_EQ(out(), "{\"activity\":[],\"next\":4}\n");
  EXPECT_EQ(err(), "");
}

TEST_F(ActivityTest, ARefusalIsPrintedInTheServersWords) {
  server_.on("GET /api/v1/activity?status=soon",
             Scripted{.status = 400, .body = R"({"error":{"message":"'status' must be a status"}})"});
  EXPECT_NE(run({"activity", "--status", "soon"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("'status' must be a status"));
}

TEST(UrlText, OnlyPlainCharactersStay) {
  EXPECT_EQ(escaped("a-Z._~09 /&=%+"), "a-Z._~09%20%2F%26%3D%25%2B");
  EXPECT_EQ(escaped("org/repo:Q4", "/"), "org/repo%3AQ4");
}

}  // namespace
}  // namespace corral::cli
