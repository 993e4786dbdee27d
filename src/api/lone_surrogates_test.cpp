// Half an emoji in a request, as clients send it that cut texts at 16 bits. Each got 400 "not valid JSON".
#include "api/api_fixture_for_tests.h"
#include "json/peek.h"

namespace corral::api {
namespace {

struct Half {
  const char* path;
  const char* model;
  const char* body;
};

const Half kHalves[] = {
    {"/v1/chat/completions", "tiny-llama",
     R"({"model":"tiny-llama","messages":[{"role":"user","content":"before \ud83d behind"}],"metadata":{"k\ude00":"v"}})"},
    {"/v1/chat/completions", "tiny-llama",
     R"({"model":"tiny-llama","messages":[{"role":"user","content":[{"type":"text","text":"before \uDE00 behind"}]}],)"
     R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"\ud83d":{}}}}}]})"},
    {"/v1/completions", "tiny-llama", R"({"model":"tiny-llama","prompt":"before \ud83d\n behind"})"},
    {"/v1/completion", "tiny-llama", R"({"model":"tiny-llama","prompt":"before \ud83d\ud83d\ude00 behind"})"},
    {"/v1/infill", "tiny-llama", R"({"model":"tiny-llama","input_prefix":"before \ud83d","input_suffix":" behind"})"},
    {"/v1/apply-template", "tiny-llama",
     R"({"model":"tiny-llama","messages":[{"role":"user","content":"before \ud83d behind"}]})"},
    {"/v1/tokenize", "tiny-llama", R"({"model":"tiny-llama","content":"before \ud83d behind"})"},
    {"/v1/embeddings", "tiny-embed", R"({"model":"tiny-embed","input":["before \ud83d behind"]})"},
    {"/v1/rerank", "tiny-rerank", R"({"model":"tiny-rerank","query":"before \ud83d","documents":["behind"]})"},
    {"/v2/rerank", "tiny-rerank", R"({"model":"tiny-rerank","query":"before","documents":["\ud83d behind"]})"},
    {"/v1/messages", "tiny-llama",
     R"({"model":"tiny-llama","max_tokens":8,"system":"before \ud83d","messages":[{"role":"user","content":" behind"}],)"
     R"("tools":[{"name":"f","input_schema":{"type":"object","properties":{"\ud83d":{}}}}]})"},
    {"/v1/messages/count_tokens", "tiny-llama",
     R"({"model":"tiny-llama","messages":[{"role":"user","content":"before \ud83d behind"}]})"},
    {"/v1/responses", "tiny-llama", R"({"model":"tiny-llama","input":"before \ud83d behind","store":false})"},
    {"/v1/responses", "tiny-llama",
     R"({"model":"tiny-llama","input":[{"role":"user","content":"before"},{"type":"function_call","call_id":"c","name":"f",)"
     R"("arguments":"{\"a\":\"\ud83d\"}"},{"type":"function_call_output","call_id":"c","output":"behind"}]})"},
    {"/v1/responses/input_tokens", "tiny-llama", R"({"model":"tiny-llama","input":"before \ud83d behind"})"},
    {"/api/chat", "tiny-llama",
     R"({"model":"tiny-llama","stream":false,"messages":[{"role":"user","content":"before"},{"role":"assistant","tool_calls":)"
     R"([{"function":{"name":"f","arguments":{"\ud83d":"\ude00"}}}]},{"role":"tool","content":"behind"}]})"},
    {"/api/generate", "tiny-llama", R"({"model":"tiny-llama","stream":false,"prompt":"before \ud83d behind"})"},
    {"/api/embed", "tiny-embed", R"({"model":"tiny-embed","input":"before \ud83d behind"})"},
    {"/api/embeddings", "tiny-embed", R"({"model":"tiny-embed","prompt":"before \ud83d behind"})"},
};

class LoneSurrogatesTest : public ApiTest {
 protected:
  // What the model is asked. Large bodies are read on a thread.
  std::string forwarded(const std::string& model, const std::string& path, std::string body) {
    const auto& requests = backend.server(model).requests();
    const auto before = requests.size();
    auto asking = send("POST", path, std::move(body));
    loop.context().restart();
    while (requests.size() == before) loop.context().run_one();
    auto asked = requests.back()->body();
    requests.back()->answer(
        200, R"({"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]})");
    finish(*asking);
    return asked;
  }
};

TEST_F(LoneSurrogatesTest, AreReplacementCharactersForTheModelOnEveryRoute) {
  for (const auto* model : {"tiny-llama", "tiny-embed", "tiny-rerank"}) have(model);
  for (const auto& half : kHalves) {
    SCOPED_TRACE(std::string(half.path) + half.body);
    ASSERT_FALSE(json::Peek::open(std::string(half.body))) << "else this test is of no use";
    const auto asked = forwarded(half.model, half.path, half.body);
    EXPECT_TRUE(json::parse(asked)) << asked;
    EXPECT_THAT(asked, HasSubstr("before"));
    EXPECT_THAT(asked, HasSubstr("behind"));
    EXPECT_TRUE(asked.contains("\\ufffd") || asked.contains("\uFFFD")) << asked;
  }
}

TEST_F(LoneSurrogatesTest, AreReplacedInLargeBodiesToo) {
  have("tiny-llama");
  const std::string text = std::string(200'000, 'x') + "\\ud83d";
  for (const std::string& body :
       {R"("messages":[{"role":"user","content":")" + text + R"("}]})", R"("input":")" + text + R"("})"}) {
    const auto* path = body.starts_with("\"input") ? "/v1/responses" : "/v1/chat/completions";
    const auto asked = forwarded("tiny-llama", path, R"({"model":"tiny-llama",)" + body);
    EXPECT_TRUE(asked.contains("x\\ufffd\"") || asked.contains("x\uFFFD\"")) << path;
  }
}

TEST_F(LoneSurrogatesTest, AreAcceptedByCommandsToo) {
  const auto loaded = post("/v1/load", R"({"model_name":"no-\ud83d"})");
  EXPECT_EQ(loaded.status, 404u) << loaded.text;
  EXPECT_EQ(post("/api/show", R"({"model":"no-\ud83d"})").status, 404u);
  EXPECT_EQ(post("/v1/load", R"({"model_name":"no-\ud83"})").error("code"), "invalid_json");
}

}  // namespace
}  // namespace corral::api
