// What is wrong with a request is said with the right status and field, and nothing is loaded or evicted for it.
#include <fmt/format.h>

#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

struct Wrong {
  const char* path;
  const char* body;
  unsigned status;
  const char* code;
  const char* param;    // "" : none
  const char* message;  // part of it
};

const Wrong kWrong[] = {
    // Not JSON, or not an object.
    {"chat/completions", "", 400, "invalid_json", "", ""},
    {"chat/completions", "{", 400, "invalid_json", "", ""},
    {"chat/completions", "{\"model\":\"tiny-llama\",}", 400, "invalid_json", "", ""},
    {"chat/completions", "[]", 400, "invalid_type", "", "object"},
    {"chat/completions", "\"tiny-llama\"", 400, "invalid_type", "", "object"},
    {"completions", "nope", 400, "invalid_json", "", ""},
    {"embeddings", "{", 400, "invalid_json", "", ""},
    {"rerank", "{", 400, "invalid_json", "", ""},
    {"load", "", 400, "invalid_json", "", ""},
    {"load", "{", 400, "invalid_json", "", ""},
    {"load", "null", 400, "invalid_type", "", "object"},
    {"unload", "{", 400, "invalid_json", "", ""},
    {"unload", "[]", 400, "invalid_type", "", "object"},
    // Fields missing or of the wrong type.
    {"chat/completions", R"({"messages":[{"role":"user","content":"x"}]})", 400, "missing_required_parameter", "model",
     "model"},
    {"chat/completions", R"({"model":"tiny-llama"})", 400, "missing_required_parameter", "messages", "messages"},
    {"chat/completions", R"({"model":7,"messages":[{"role":"user","content":"x"}]})", 400, "invalid_type", "model",
     "model"},
    {"chat/completions", R"({"model":"","messages":[{"role":"user","content":"x"}]})", 400, "invalid_value", "model",
     "model"},
    {"chat/completions", R"({"model":"tiny-llama","messages":"hi"})", 400, "invalid_type", "messages", "messages"},
    {"chat/completions", R"({"model":"tiny-llama","messages":[]})", 400, "invalid_value", "messages", "messages"},
    {"chat/completions", R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}],"temperature":"hot"})",
     400, "invalid_type", "temperature", "hot"},
    {"chat/completions", R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}],"stream":1})", 400,
     "invalid_type", "stream", "stream"},
    {"completions", R"({"model":"tiny-llama"})", 400, "missing_required_parameter", "prompt", "prompt"},
    {"embeddings", R"({"model":"tiny-embed"})", 400, "missing_required_parameter", "input", "input"},
    {"rerank", R"({"model":"tiny-rerank","query":"x"})", 400, "missing_required_parameter", "documents", "documents"},
    {"embedding", R"({"model":"tiny-embed"})", 400, "missing_required_parameter", "content", "content"},
    {"tokenize", R"({"content":"x"})", 400, "missing_required_parameter", "model",
     "no model is loaded; available: 'tiny-embed', 'tiny-llama', 'tiny-qwen3', 'tiny-rerank'"},
    {"tokenize", R"({"model":"tiny-llama"})", 400, "missing_required_parameter", "content", "content"},
    // Fields that don't go together, or hold nothing.
    {"completions", R"({"model":"tiny-llama","prompt":[]})", 400, "invalid_value", "prompt", "at least one prompt"},
    {"completion", R"({"model":"tiny-llama","prompt":[]})", 400, "invalid_value", "prompt", "at least one prompt"},
    {"completions", R"({"model":"tiny-llama","prompt":"x","best_of":2})", 400, "unsupported_value", "best_of", "'n'"},
    {"completions", R"({"model":"tiny-llama","prompt":"x","echo":true,"logprobs":1})", 400, "unsupported_value", "echo",
     "'logprobs'"},
    {"completion", R"({"model":"tiny-llama","prompt":"x","grammar":"root ::= \"a\"","json_schema":{}})", 400,
     "invalid_value", "grammar", "JSON schema"},
    {"completion", R"({"model":"tiny-llama","prompt":"x","grammar":"root ::= \"a\"","grammar_lazy":true})", 400,
     "invalid_value", "grammar_triggers", "'grammar_lazy'"},
    {"chat/completions", R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}],"top_logprobs":2})", 400,
     "invalid_value", "top_logprobs", "'logprobs'"},
    {"chat/completions",
     R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}],"grammar":"root ::= \"a\"","tools":[{"type":"function","function":{"name":"f"}}]})",
     400, "invalid_value", "grammar", "'tools'"},
    {"chat/completions",
     R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"function","function":{"name":"f"}}})",
     400, "invalid_value", "tool_choice", "\"f\""},
    {"chat/completions",
     R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}],"tool_choice":"required"})", 400,
     "invalid_value", "tool_choice", "no function to call"},
    {"chat/completions",
     R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}],"tools":[{"type":"custom","custom":{"name":"c"}}]})",
     400, "unsupported_value", "tools[0].type", "POST /v1/responses"},
    {"chat/completions",
     R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}],"chat_template_kwargs":{"enable_thinking":3}})",
     400, "invalid_type", "chat_template_kwargs.enable_thinking", "true or false"},
    {"apply-template",
     R"({"model":"tiny-llama","messages":[{"role":"assistant","content":"x"},{"role":"assistant","content":"y"}]})",
     400, "invalid_value", "messages", "two assistant messages"},
    {"chat/completions",
     R"({"model":"tiny-llama","messages":[{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]}]})",
     400, "invalid_value", "messages", "tool calls"},
    {"embeddings", R"({"model":"tiny-embed","input":["a",""]})", 400, "invalid_value", "input[1]", "omit it"},
    {"load", R"({})", 400, "missing_required_parameter", "model_name", "model_name"},
    {"load", R"({"model_name":5})", 400, "invalid_type", "model_name", "model_name"},
    {"load", R"({"model_name":"tiny-llama","ctx_size":"big"})", 400, "invalid_type", "ctx_size", "ctx_size"},
    {"load", R"({"model_name":"tiny-llama","ctx_size":-2})", 400, "invalid_value", "ctx_size", "ctx_size"},
    {"load", R"({"model_name":"tiny-llama","pinned":"yes"})", 400, "invalid_type", "pinned", "pinned"},
    {"unload", R"({"model_name":["tiny-llama"]})", 400, "invalid_type", "model_name", "model_name"},
    {"unload", R"({"model_name":""})", 400, "invalid_value", "model_name", "model_name"},
    {"unload", R"({"modelname":"tiny-llama"})", 400, "unsupported_value", "modelname", "model_name"},
    // Models that aren't there, or are something else.
    {"chat/completions", R"({"model":"tiny-lama","messages":[{"role":"user","content":"x"}]})", 404, "model_not_found",
     "model", "'tiny-llama'"},
    {"chat/completions", R"({"model":"gpt-4","messages":[{"role":"user","content":"x"}]})", 404, "model_not_found",
     "model", "gpt-4"},
    {"load", R"({"model_name":"tiny-lama"})", 404, "model_not_found", "model", "'tiny-llama'"},
    {"unload", R"({"model_name":"tiny-llama"})", 404, "model_not_loaded", "model", "tiny-llama"},
    {"unload", R"({"model_name":"nonesuch"})", 404, "model_not_loaded", "model", "nonesuch"},
    {"chat/completions", R"({"model":"tiny-embed","messages":[{"role":"user","content":"x"}]})", 400,
     "wrong_model_type", "model", "embedding"},
    {"completions", R"({"model":"tiny-rerank","prompt":"x"})", 400, "wrong_model_type", "model", "reranking"},
    {"embeddings", R"({"model":"tiny-llama","input":"x"})", 400, "wrong_model_type", "model", "llm"},
    {"reranking", R"({"model":"tiny-embed","query":"x","documents":["y"]})", 400, "wrong_model_type", "model",
     "embedding"},
};

TEST_F(ApiTest, EachWrongInputIsToldUnderEveryPrefix) {
  for (const auto& wrong : kWrong) {
    for (const auto prefix : kPrefixes) {
      SCOPED_TRACE(fmt::format("{}{} {}", prefix, wrong.path, wrong.body));
      const auto answer = post(std::string(prefix) + wrong.path, wrong.body);
      EXPECT_EQ(answer.status, wrong.status);
      EXPECT_EQ(answer.headers.get("Content-Type"), "application/json");
      EXPECT_EQ(answer.error("code"), wrong.code);
      EXPECT_EQ(answer.error("param"), wrong.param);
      EXPECT_THAT(answer.error("message"), HasSubstr(wrong.message));
      EXPECT_FALSE(answer.error("type").empty());
    }
  }
  expect_untouched();
}

TEST_F(ApiTest, WrongInputEvictsNobody) {
  have("tiny-llama");
  for (const auto& wrong : kWrong) {
    if (std::string_view(wrong.code) == "model_not_loaded") continue;
    const bool means_the_loaded_one =
        wrong.code == std::string_view("missing_required_parameter") && wrong.param == std::string_view("model");
    if (means_the_loaded_one) continue;
    const auto answer = post(std::string("/v1/") + wrong.path, wrong.body);
    EXPECT_EQ(answer.status, wrong.status) << wrong.path << wrong.body;
  }
  EXPECT_THAT(backend.alive(), ElementsAre("tiny-llama"));
  EXPECT_EQ(backend.servers().size(), 1u);
}

// 33 prompts with 32 answers each: more than one request gives.
TEST_F(ApiTest, TooManyAnswersStartNoModel) {
  std::string prompts = R"("x")";
  for (int i = 0; i < 32; ++i) prompts += R"(,"x")";
  for (const auto* path : {"/v1/completions", "/v1/completion"}) {
    const auto answer = post(path, R"({"model":"tiny-llama","n":32,"prompt":[)" + prompts + "]}");
    EXPECT_EQ(answer.status, 400u);
    EXPECT_EQ(answer.error("param"), "prompt");
  }
  expect_untouched();
}

TEST_F(ApiTest, BodyOverTheLimitIs413) {
  context.bodies.max_bytes = 100;
  struct Endless final : http::BodySource {
    async::Task<Result<std::string_view>> read() override { co_return std::string_view("xxxxxxxxxx"); }
  };
  http::Request request;
  request.head.method = "POST";
  request.head.target = "/v1/chat/completions";
  request.body = http::Body(std::make_unique<Endless>());
  const auto response = async::run_blocking(loop, handler->handle(std::move(request)));
  EXPECT_EQ(response.head.status, 413u);
  expect_untouched();
}

// ---- paths and methods

const char* const kPostOnly[] = {"chat/completions", "completions", "embeddings", "rerank", "reranking",
                                 "reranker",         "tokenize",    "detokenize", "load",   "unload"};
const char* const kGetOnly[] = {"models", "models/tiny-llama", "health", "live", "stats"};

TEST_F(ApiTest, PostOnlyPathsAnswerGetWith405AndAllow) {
  for (const auto prefix : kPrefixes) {
    for (const auto* path : kPostOnly) {
      const auto answer = get(std::string(prefix) + path);
      EXPECT_EQ(answer.status, 405u) << prefix << path;
      EXPECT_THAT(std::string(answer.headers.get("Allow")), HasSubstr("POST"));
      EXPECT_EQ(answer.error("code"), "method_not_allowed");
    }
    for (const auto* path : kGetOnly) EXPECT_EQ(post(std::string(prefix) + path, "{}").status, 405u) << prefix << path;
  }
  EXPECT_EQ(get("/internal/pin").status, 405u);
  expect_untouched();
}

TEST_F(ApiTest, HeadIsNever404OnAKnownPath) {
  for (const auto prefix : kPrefixes) {
    for (const auto* path : kPostOnly) {
      const auto answer = ask("HEAD", std::string(prefix) + path);
      EXPECT_EQ(answer.status, 405u) << path;  // as GET
      EXPECT_THAT(std::string(answer.headers.get("Allow")), HasSubstr("POST"));
    }
    for (const auto* path : kGetOnly) {
      EXPECT_EQ(ask("HEAD", std::string(prefix) + path).status, 200u) << path;
    }
  }
  expect_untouched();
}

TEST_F(ApiTest, OptionsSaysWhatIsAllowed) {
  const auto answer = ask("OPTIONS", "/v1/load");
  EXPECT_EQ(answer.status, 204u);
  EXPECT_THAT(std::string(answer.headers.get("Allow")), HasSubstr("POST"));
}

TEST_F(ApiTest, UnknownPathsAre404InTheEnvelope) {
  for (const auto* path :
       {"/nonesuch", "/v1", "/v1/", "/v2/models", "/v1/chat", "/v1/loadx", "/api/v1/health/x", "//v1/models"}) {
    for (const auto* method : {"GET", "POST", "HEAD", "DELETE"}) {
      const auto answer = ask(method, path, "{}");
      EXPECT_EQ(answer.status, 404u) << method << path;
      EXPECT_EQ(answer.error("code"), "unknown_path") << path;
    }
  }
  EXPECT_EQ(get("/v1/models?x=1").status, 200u);
}

}  // namespace
}  // namespace corral::api
