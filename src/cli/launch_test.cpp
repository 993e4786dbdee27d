// Agents and what they are told; starting one for real is in tests/integration/launch.test.mjs.
#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"
#include "cli/launch_plan.h"

namespace corral::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kTwo =
    R"({"data":[{"id":"a","type":"llm","status":{"value":"unloaded"}},{"id":"b","type":"llm","status":{"value":"loaded"}},)"
    R"({"id":"e","type":"embedding","status":{"value":"loaded"}}]})";

TEST_F(ProgramTest, LaunchPrintsWhatEachAgentIsTold) {
  server_.on("GET /api/v1/models", kTwo);
  variables_["XDG_STATE_HOME"] = testing::TempDir() + "corral-launch";
  server_.on("GET /api/v1/models/a%20b", R"({"id":"a b","type":"llm"})");
  server_.on("GET /api/v1/models/org/m%3AQ4", R"({"id":"x","type":"llm","context_length":40960})");
  EXPECT_EQ(run({"launch", "claude", "--print"}), 0) << err();
  EXPECT_EQ(out(),
            "export ANTHROPIC_BASE_URL=http://127.0.0.1:8000\nexport ANTHROPIC_AUTH_TOKEN=none\n"
            "export ANTHROPIC_MODEL=b\nexport ANTHROPIC_SMALL_FAST_MODEL=b\n"
            "export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1\nclaude\n");
  variables_["CORRAL_API_KEY"] = "it's secret";
  EXPECT_EQ(run({"launch", "qwen", "--model", "a b", "--print", "--", "-p", "say 'hi'"}), 0) << err();
  EXPECT_EQ(out(),
            "export OPENAI_BASE_URL=http://127.0.0.1:8000/v1\nexport OPENAI_API_KEY='it'\\''s secret'\n"
            "export OPENAI_MODEL='a b'\nqwen --auth-type openai -p 'say '\\''hi'\\'''\n");
  for (const auto& agent : agents()) {
    EXPECT_EQ(run({"launch", std::string(agent.name), "--model", "org/m:Q4", "--print"}), 0) << agent.name;
    EXPECT_THAT(out(), HasSubstr("org/m:Q4")) << agent.name;
    if (agent.name != "pi") EXPECT_THAT(out(), HasSubstr("http://127.0.0.1:8000")) << agent.name;
    EXPECT_EQ(err(), "");
  }
  EXPECT_EQ(run({"launch", "codex", "--model", "org/m:Q4", "--print", "--json"}), 0) << err();
  EXPECT_THAT(out(), testing::StartsWith(R"({"program":"codex","arguments":["-c")"));
  EXPECT_THAT(out(), HasSubstr(R"("model_context_window=40960")"));
}

TEST_F(ProgramTest, LaunchChecksTheModel) {
  server_.on("GET /api/v1/models/e", R"({"id":"e","type":"embedding"})");
  server_.on("GET /api/v1/models/small", R"({"id":"small","type":"llm","context_length":8192})");
  EXPECT_EQ(run({"launch", "codex", "--model", "e", "--print"}), 2);
  EXPECT_THAT(err(), HasSubstr("'e' has the type embedding"));
  EXPECT_NE(run({"launch", "codex", "--model", "nothing", "--print"}), 0);
  EXPECT_EQ(run({"launch", "codex", "--model", "small", "--print"}), 0);
  EXPECT_THAT(err(), HasSubstr("'small' has a context of 8192 tokens, but most agents need 32768 or more"));
}

TEST_F(ProgramTest, LaunchSaysWhatIsMissing) {
  variables_["PATH"] = "/nonexistent:";
  EXPECT_EQ(run({"launch", "codex"}), 2);
  EXPECT_THAT(err(), HasSubstr("the program 'codex' is not in PATH: npm install -g @openai/codex"));
  EXPECT_EQ(run({"launch", "emacs"}), 2);
  EXPECT_THAT(err(), HasSubstr("codex, claude, opencode, qwen, pi"));
  EXPECT_TRUE(server_.requests.empty());
  server_.on("GET /api/v1/models", R"({"data":[{"id":"a","type":"llm"},{"id":"b","type":"llm"}]})");
  EXPECT_EQ(run({"launch", "pi", "--print"}), 2);
  EXPECT_THAT(err(), HasSubstr("select one with --model, such as a, b"));
  server_.answers.clear();
  server_.on("GET /api/v1/models", R"({"data":[]})");
  EXPECT_EQ(run({"launch", "pi", "--print"}), 2);
  EXPECT_THAT(err(), HasSubstr("no chat model"));
}

// A model's name comes from a server: it must stay one word in whatever reads it.
TEST(Launch, NamesCantBreakOutOfWhatTheyStandIn) {
  const std::string evil = "a\"; rm -rf ~ #'\n$(x)`y`\\z";
  for (const auto& agent : agents()) {
    const auto plan = agent.plan({.url = "http://h:1", .model = evil, .key = "k", .folder = "/f"});
    const auto text = shell_text(plan);
    EXPECT_EQ(text.find("\nrm"), std::string::npos);
    std::size_t quotes = 0;
    for (std::size_t at = 0; at < text.size(); ++at)
      quotes += text[at] == '\'' && (at == 0 || text[at - 1] != '\\') ? 1 : 0;
    EXPECT_EQ(quotes % 2, 0u) << text;
    for (const auto& [path, content] : plan.files) EXPECT_THAT(content, HasSubstr(R"(a\"; rm -rf ~ #'\n)"));
  }
}

}  // namespace
}  // namespace corral::cli
