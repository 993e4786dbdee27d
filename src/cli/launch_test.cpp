// Agents and what they are told; starting one for real is in tests/integration/launch.test.mjs.
#include <filesystem>
#include <fstream>

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
  server_.on("GET /api/v1/models/org/m%3AQ4", R"({"id":"x","type":"llm","context_length":81920})");
  EXPECT_EQ(run({"launch", "claude", "--print"}), 0) << err();
  EXPECT_EQ(
      out(),
      "export ANTHROPIC_BASE_URL=http://127.0.0.1:8000\nexport ANTHROPIC_AUTH_TOKEN=none\n"
      "export ANTHROPIC_MODEL=b\nexport ANTHROPIC_SMALL_FAST_MODEL=b\n"
      "export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1\nexport CLAUDE_CODE_MAX_CONTEXT_TOKENS=131072\nclaude\n");
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
  EXPECT_THAT(out(), HasSubstr(R"("model_context_window=81920")"));
  EXPECT_EQ(run({"launch", "claude", "--model", "org/m:Q4", "--print"}), 0) << err();
  EXPECT_THAT(out(), HasSubstr("\nexport CLAUDE_CODE_MAX_CONTEXT_TOKENS=81920\n"));
}

TEST_F(ProgramTest, LaunchChecksTheModel) {
  server_.on("GET /api/v1/models/e", R"({"id":"e","type":"embedding"})");
  EXPECT_EQ(run({"launch", "codex", "--model", "e", "--print"}), 2);
  EXPECT_THAT(err(), HasSubstr("'e' has the type embedding"));
  EXPECT_NE(run({"launch", "codex", "--model", "nothing", "--print"}), 0);
}

// opencode summarized its conversation for ever at 8,192 tokens.
TEST_F(ProgramTest, LaunchRefusesAContextThatIsTooSmallForTheAgent) {
  const auto folder = testing::TempDir() + "corral-agents";
  std::filesystem::create_directories(folder);
  for (const auto& agent : agents()) {
    const auto file = folder + "/" + std::string(agent.program);
    std::ofstream(file) << "no program\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  variables_["PATH"] = folder;
  variables_["XDG_STATE_HOME"] = folder;
  const auto model = [&](const std::string& more) {
    server_.answers.clear();
    server_.on("GET /api/v1/models/a%20b", R"({"id":"a b","type":"llm","context_length":8192)" + more + "}");
  };
  const auto may_load_with = [&](const std::string& tokens) {
    server_.on("POST /api/v1/models/a%20b/options", R"({"context_length":)" + tokens + "}");
  };
  const auto refusal = [&](const std::string& agent) {
    EXPECT_EQ(run({"launch", agent, "--model", "a b"}), kExitUsage);
    return err();
  };
  const std::string need = "corral: 'a b' has a context of 8192 tokens";
  const std::string enlarge = ": enlarge it with corral load 'a b' --ctx-size ";
  model("");
  EXPECT_EQ(refusal("opencode"),
            need + ", but opencode needs 32768 or more" + enlarge + "65536 --save-options, or use --force\n");
  // Advice that the model and the memory allow.
  model(R"(,"max_context_length":40960)");
  EXPECT_EQ(refusal("codex"),
            need + ", but codex needs 32768 or more" + enlarge + "40960 --save-options, or use --force\n");
  EXPECT_EQ(refusal("claude"), need +
                                   " and was trained with 40960, but claude needs 65536 or more: select another "
                                   "model with --model, or use --force\n");
  model(R"(,"max_context_length":262144)");
  may_load_with("50000");
  EXPECT_EQ(refusal("qwen"),
            need + ", but qwen needs 32768 or more" + enlarge + "50000 --save-options, or use --force\n");
  EXPECT_EQ(refusal("claude"),
            need + ", but claude needs 65536 or more" + enlarge + "65536 --save-options, or use --force\n");
  model(R"(,"max_context_length":262144)");
  may_load_with("20000");
  EXPECT_EQ(refusal("claude"), need +
                                   ", and the free memory is enough for about 40000, but claude needs 65536 or more: "
                                   "unload other models, select another one with --model, or use --force\n");
  EXPECT_EQ(server_.bodies("POST /api/v1/models/a%20b/options").back(), R"({"ctx_size":-1,"dry_run":true})");
  // It is only printed; the agent has enough; the user insists.
  EXPECT_EQ(run({"launch", "opencode", "--model", "a b", "--print"}), kExitOk);
  EXPECT_EQ(err(), "warning: 'a b' has a context of 8192 tokens, but opencode needs 32768 or more" + enlarge +
                       "32768 --save-options, or use --force\n");
  EXPECT_EQ(run({"launch", "pi", "--model", "a b", "--print"}), kExitOk);
  EXPECT_EQ(err(), "");
  EXPECT_EQ(run({"launch", "opencode", "--model", "a b", "--force"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("cannot be started"));
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
