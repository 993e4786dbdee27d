// The command line itself: help, wrong words, flags before the command.
#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class UsageTest : public ProgramTest {};

TEST_F(UsageTest, HelpFitsTheTerminal) {
  const auto longest_line = [this](std::size_t width) {
    surroundings_.terminal.width = width;
    std::size_t longest = 0;
    for (const char* command : {"serve", "load"}) {
      EXPECT_EQ(run({command, "--help"}), kExitOk);
      std::istringstream lines(out());
      for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    }
    return longest;
  };
  EXPECT_LE(longest_line(80), 80u);
  EXPECT_LE(longest_line(60), 60u);
  EXPECT_EQ(longest_line(20), longest_line(60));
  EXPECT_EQ(longest_line(200), longest_line(120));
  pipe_everything();
  run({"load", "--help"});
  EXPECT_EQ(out(), help_text("load"));
}

TEST_F(UsageTest, AWrongCommandLineIsAUsageError) {
  const std::vector<std::vector<std::string>> wrong = {
      {"lost"}, {"list", "--nope"}, {"load"}, {"load", "m", "--ctx-size", "big"}, {"serve", "--port"}};
  for (const auto& arguments : wrong) {
    EXPECT_EQ(run(arguments), kExitUsage) << arguments.front();
    EXPECT_THAT(err(), ::testing::StartsWith("corral: "));
    EXPECT_EQ(out(), "");
  }
}

TEST_F(UsageTest, WhatWasProbablyMeantIsSaid) {
  EXPECT_EQ(run({"lst"}), kExitUsage);
  EXPECT_EQ(err(), "corral: unexpected: lst; did you mean list?\nsee: corral --help\n");
  EXPECT_EQ(run({"list", "one", "two", "three"}), kExitUsage);
  EXPECT_EQ(err(), "corral: unexpected: two three\nsee: corral list --help\n");
  EXPECT_EQ(run({"load", "m", "--ctx-sise=5"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("did you mean --ctx-size?\nsee: corral load --help"));
  EXPECT_EQ(run({"--ctx-size", "5", "load", "m"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("put flags of a command after its name"));
}

TEST_F(UsageTest, SimilarCommandsAreSuggested) {
  const auto suggested = [this](const std::string& word) {
    EXPECT_EQ(run({word}), kExitUsage);
    const std::string begin = "corral: unexpected: " + word;
    EXPECT_THAT(err(), AllOf(::testing::StartsWith(begin), ::testing::EndsWith("\nsee: corral --help\n")));
    return err().substr(begin.size(), err().find('\n') - begin.size());
  };
  EXPECT_EQ(suggested("sta"), "; did you mean stats or status?");
  EXPECT_EQ(suggested("PUL"), "; did you mean pull?");
  EXPECT_EQ(suggested("satus"), "; did you mean status?");
  EXPECT_EQ(suggested("sotp"), "; did you mean stop?");
  EXPECT_EQ(suggested("zz"), "");
  EXPECT_EQ(suggested("-x"), "");
}

TEST_F(UsageTest, FlagsOfTheServerMayComeFirst) {
  constexpr const char* kHealth = R"({"version":"0.1.0"})";
  server_.on("GET /api/v1/health", kHealth);
  EXPECT_EQ(run({"--port", "8001", "status"}), kExitOk);
  EXPECT_EQ(server_.address->url(), "http://127.0.0.1:8001");
  EXPECT_EQ(run({"--json", "--url=http://x", "status"}), kExitOk);
  EXPECT_EQ(server_.address->url(), "http://x:80");
  EXPECT_EQ(out(), std::string(kHealth) + "\n");
  EXPECT_EQ(run({"--json"}), kExitUsage);
  // The server's own flags have other meanings.
  EXPECT_EQ(run({"--port", "8001", "serve"}), kExitUsage);
  EXPECT_FALSE(served_);
}

TEST_F(UsageTest, WordsOfOtherPrograms) {
  server_.on("GET /api/v1/models?rescan=true", R"({"data":[{"id":"m","type":"llm"}]})");
  server_.on("POST /api/v1/unload", R"({"status":"success"})");
  EXPECT_EQ(run({"ls"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("m "));
  EXPECT_EQ(run({"stop", "m"}), kExitOk);
  EXPECT_EQ(run({"help"}), kExitOk);
  const std::string help = out();
  EXPECT_THAT(help, HasSubstr("Usage: corral [OPTIONS] [SUBCOMMAND]"));
  EXPECT_EQ(run({"help", "list"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("Usage: corral list"));
}

TEST_F(UsageTest, HelpOfAnUnknownCommandIsAnError) {
  EXPECT_EQ(run({"help", "lst"}), kExitUsage);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "corral: unexpected: lst; did you mean list?\nsee: corral --help\n");
  EXPECT_EQ(run({"foo", "--help"}), kExitUsage);
  EXPECT_EQ(run({"help", "mesh", "node"}), kExitUsage);
  EXPECT_EQ(err(), "corral: unexpected: node; did you mean nodes?\nsee: corral mesh --help\n");
  EXPECT_EQ(run({"help", "mesh", "nodes"}), kExitOk);
}

}  // namespace
}  // namespace corral::cli
