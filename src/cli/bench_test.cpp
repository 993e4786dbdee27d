// `corral bench`.
#include <set>

#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kTokenize = "POST /tokenize";
constexpr const char* kCompletions = "POST /api/v1/completions";

class BenchTest : public ProgramTest {
 protected:
  BenchTest() {
    surroundings_.terminal.err_tty = false;
    server_.on(kTokenize, R"({"tokens":[11,12,13,14,15,16,17,18,19,20]})");
  }
  // Takes half a second.
  void answers(const std::string& timings) {
    server_.on(kCompletions, Scripted{.body = R"({"choices":[],"timings":{)" + timings + "}}",
                                      .meanwhile = [this] { clock_.time += Millis(500); }});
  }
};

TEST_F(BenchTest, ShowsEachRoundAndTheirMean) {
  answers(R"("prompt_n":8,"prompt_per_second":1,"predicted_n":1,"predicted_per_second":1)");  // loads the model
  answers(R"("prompt_n":8,"prompt_per_second":1000,"predicted_n":16,"predicted_per_second":50)");
  answers(R"("prompt_n":8,"prompt_per_second":2000,"predicted_n":16,"predicted_per_second":100)");
  answers(R"("prompt_n":8,"prompt_per_second":3000,"predicted_n":16,"predicted_per_second":150)");
  answers(R"("prompt_n":8,"prompt_per_second":4000,"predicted_n":16,"predicted_per_second":200)");
  EXPECT_EQ(run({"bench", "tiny", "--streams", "2", "--rounds", "2", "--tokens", "16", "--prompt-tokens", "8"}),
            kExitOk);
  EXPECT_EQ(out(),
            "ROUND  STREAMS  PROMPT  PROMPT/S  TOKENS  TOKENS/S  ALL STREAMS   TIME\n"
            "1            2       8    1500.0      16      75.0         32.0  1.0 s\n"
            "2            2       8    3500.0      16     175.0         32.0  1.0 s\n"
            "mean         2       8    2500.0      16     125.0         32.0  1.0 s\n");
  EXPECT_EQ(err(), "");
}

TEST_F(BenchTest, NoPromptBeginsAsAnother) {
  answers(R"("prompt_n":8)");
  EXPECT_EQ(run({"bench", "tiny", "--streams", "3", "--rounds", "2", "--tokens", "16", "--prompt-tokens", "8"}),
            kExitOk);
  const auto bodies = server_.bodies(kCompletions);
  ASSERT_EQ(bodies.size(), 7u);
  EXPECT_EQ(std::set<std::string>(bodies.begin() + 1, bodies.end()).size(), 6u);
  EXPECT_THAT(bodies.front(), HasSubstr(R"("max_tokens":1,)"));
  EXPECT_THAT(bodies.back(), AllOf(HasSubstr(R"({"model":"tiny","prompt":[1)"),
                                   EndsWith(R"("max_tokens":16,"ignore_eos":true,"cache_prompt":false})")));
}

TEST_F(BenchTest, JsonIsWhatTheServerSaid) {
  answers(R"("prompt_n":7)");
  answers(R"("prompt_n":8)");
  EXPECT_EQ(run({"bench", "tiny", "--rounds", "2", "--json"}), kExitOk);
  const std::string answer = R"({"choices":[],"timings":{"prompt_n":8}})";
  EXPECT_EQ(out(), answer + "\n" + answer + "\n");
}

TEST_F(BenchTest, ARefusalIsPrintedInTheServersWords) {
  server_.on(kCompletions, Scripted{.status = 400, .body = R"({"error":{"message":"the context is too small"}})"});
  EXPECT_EQ(run({"bench", "tiny"}), kExitFailed);
  EXPECT_EQ(err(), "corral: the context is too small\n");
  server_.answers[kCompletions] = {Scripted{.body = "{}"}};
  EXPECT_EQ(run({"bench", "tiny"}), kExitFailed);
  EXPECT_EQ(err(), "corral: the answer has no timings\n");
  server_.answers[kTokenize] = {Scripted{.body = "{}"}};
  EXPECT_EQ(run({"bench", "tiny"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("returned no tokens"));
}

TEST_F(BenchTest, WhatMakesNoSenseIsAMisuse) {
  EXPECT_EQ(run({"bench"}), kExitUsage);
  for (const auto* flag : {"--streams", "--rounds", "--tokens", "--prompt-tokens"})
    EXPECT_EQ(run({"bench", "tiny", flag, "0"}), kExitUsage);
  EXPECT_TRUE(server_.requests.empty());
}

}  // namespace
}  // namespace corral::cli
