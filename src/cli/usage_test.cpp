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

// The texts are those of the server; api has them in access/rights.cpp and supply/removal_plan.cpp.
TEST_F(UsageTest, AdviceOfTheServerNamesFlags) {
  const auto printed = [this](const std::string& path, const std::string& message, std::vector<std::string> words) {
    server_.answers.clear();
    server_.on(path, Scripted{.status = 401, .body = R"({"error":{"code":"a_code","message":")" + message + R"("}})"});
    EXPECT_EQ(run(words), kExitFailed);
    const std::string text = err();
    words.emplace_back("--json");
    EXPECT_EQ(run(words), kExitFailed);
    EXPECT_THAT(out(), HasSubstr(R"("code":"a_code"}})"));
    return text;
  };
  EXPECT_EQ(printed("GET /api/v1/health",
                    "a valid API key is required: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'; create "
                    "one with corral key create",
                    {"status"}),
            "corral: a valid API key is required: set CORRAL_API_KEY or give --api-key; create one with corral key "
            "create\n");
  EXPECT_EQ(printed("POST /api/v1/delete",
                    "'m' cannot be removed: /m.gguf is in a folder of models_dir: delete it yourself, or set "
                    "'models_dir': true",
                    {"rm", "m"}),
            "corral: 'm' cannot be removed: /m.gguf is in a folder of models_dir: delete it yourself, or give "
            "--models-dir\n");
}

TEST_F(UsageTest, AWrongValueOfALoadOptionNamesTheValidOnes) {
  EXPECT_EQ(run({"load", "m", "--ctx-size", "abc"}), kExitUsage);
  EXPECT_EQ(err(), "corral: --ctx-size: 'abc' is not a whole number, or auto\nsee: corral load --help\n");
  EXPECT_EQ(run({"load", "m", "--parallel", "2x"}), kExitUsage);
  EXPECT_EQ(err(), "corral: --parallel: '2x' is not a whole number\nsee: corral load --help\n");
  EXPECT_EQ(run({"load", "m", "--evict-idle-timeout", "soon"}), kExitUsage);
  EXPECT_EQ(err(), "corral: --evict-idle-timeout: 'soon' is not a number\nsee: corral load --help\n");
}

}  // namespace
}  // namespace corral::cli
