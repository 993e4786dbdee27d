// Anthropic's API through the whole server but its sockets: the backend is asked in the canonical form, errors have
// their envelope, models are listed as Anthropic lists them.
#include "api/api_fixture_for_tests.h"
#include "api/openai/anthropic_models.h"
#include "backends/errors.h"
#include "dialects/error_filter.h"
#include "http/sse.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

class AnthropicTest : public ApiTest {
 protected:
  static std::string body(const std::string& more = {}, const std::string& model = "tiny-llama") {
    return R"({"model":")" + model + R"(","max_tokens":8,"messages":[{"role":"user","content":"hello"}])" + more + "}";
  }
  std::unique_ptr<Pending> begin_request(std::string path, std::string text, std::string method = "POST") {
    http::Request request;
    request.head = {std::move(method), std::move(path), {}};
    request.head.headers.add("anthropic-version", "2023-06-01");
    request.body = http::Body(std::move(text));
    request.id = RequestId("req-7");
    auto pending = std::make_unique<Pending>(loop.executor(), "request", client(std::move(request)));
    settle();
    return pending;
  }
  Answer exchange(std::string path, std::string text = {}, std::string method = "POST") {
    auto pending = begin_request(std::move(path), std::move(text), std::move(method));
    return finish(*pending);
  }

  dialects::ErrorFilter filter{*handler};

 private:
  async::Task<Answer> client(http::Request request) {
    auto response = co_await filter.handle(std::move(request));
    Answer answer{response.head.status, response.head.headers, {}};
    auto text = co_await response.body.read_all(1 << 20);
    answer.text = text ? *text : "BROKEN " + text.error().message;
    co_return answer;
  }
};

TEST_F(AnthropicTest, AMessageUnderEveryPrefix) {
  have("tiny-llama");
  for (const auto prefix : kPrefixes) {
    auto asking = begin_request(std::string(prefix) + "messages?beta=true", body());
    auto& request = backend.server("tiny-llama").request();
    EXPECT_EQ(request.head().target, "/v1/chat/completions");
    EXPECT_THAT(request.body(), HasSubstr(R"("messages":[{"role":"user","content":"hello"}])"));
    request.answer(200, R"({"id":"chatcmpl-1","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]})");
    settle();
    const auto answer = got(*asking);
    ASSERT_TRUE(answer);
    EXPECT_THAT(answer->text, HasSubstr(R"("content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn")"));
    EXPECT_EQ(answer->headers.get("request-id"), "req-7");
  }
}

TEST_F(AnthropicTest, AStreamFromItsLoadToItsEnd) {
  auto asking = begin_request("/v1/messages", body(R"(,"stream":true)"));
  pass(1100ms);
  backend.server("tiny-llama").finish_load();
  settle();
  auto& request = backend.server("tiny-llama").request();
  request.send(http::sse_data(R"({"choices":[{"index":0,"delta":{"content":"hi"}}]})"));
  request.send(http::sse_data(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"));
  request.send(std::string(http::kSseDone));
  request.end();
  settle();
  const auto answer = got(*asking);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->headers.get("Content-Type"), "text/event-stream");
  std::vector<std::string> names;
  http::SseParser parser([&](std::string_view name, std::string_view) { names.emplace_back(name); });
  parser.feed(answer->text);
  EXPECT_THAT(names, ElementsAre("message_start", "ping", "content_block_start", "content_block_delta",
                                 "content_block_stop", "message_delta", "message_stop"));
}

TEST_F(AnthropicTest, ALoadThatFailsUnderAStreamIsAnEvent) {
  auto asking = begin_request("/v1/messages", body(R"(,"stream":true)"));
  pass(1100ms);
  for (int i = 0; i < 2; ++i) {
    backend.server("tiny-llama").fail_load({make_error_code(backends::errc::load_failed), "broken"});
    settle();
  }
  const auto answer = got(*asking);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->text, HasSubstr("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\""));
}

TEST_F(AnthropicTest, TokensAreCounted) {
  have("tiny-llama");
  auto asking = begin_request("/v1/messages/count_tokens",
                              R"({"model":"tiny-llama","messages":[{"role":"user","content":"hello"}]})");
  auto& request = backend.server("tiny-llama").request();
  EXPECT_EQ(request.head().target, "/v1/chat/completions/input_tokens");
  request.answer(200, R"({"object":"response.input_tokens","input_tokens":12})");
  settle();
  EXPECT_EQ(got(*asking)->text, R"({"input_tokens":12})");
}

// What is wrong with a request, and how it is told; nothing was loaded or evicted for it.
TEST_F(AnthropicTest, ErrorsOfRequests) {
  struct Case {
    std::string path, body;
    unsigned status;
    std::string_view type, message;
  };
  for (const auto& [path, text, status, type, message] : {
           Case{"/v1/messages", "{", 400, "invalid_request_error", "not valid JSON"},
           Case{"/v1/messages", R"({"model":"tiny-llama","messages":[]})", 400, "invalid_request_error", "'messages'"},
           Case{"/v1/messages", body(R"(,"tools":7)"), 400, "invalid_request_error", "'tools' must be an array"},
           Case{"/v1/messages", body("", "nobody"), 404, "not_found_error", "nobody"},
           Case{"/v1/messages", body("", "tiny-embed"), 400, "invalid_request_error", "messages needs a model"},
           Case{"/v1/messages/count_tokens", "{}", 400, "invalid_request_error", "'messages' is required"},
           Case{"/v1/messages/batches", "{}", 404, "not_found_error", "unknown path"},
       }) {
    const auto answer = exchange(path, text);
    EXPECT_EQ(answer.status, status) << answer.text;
    EXPECT_THAT(answer.text, testing::StartsWith(R"({"type":"error","error":{"type":")" + std::string(type) + "\""));
    EXPECT_THAT(answer.text, HasSubstr(message));
  }
  EXPECT_EQ(exchange("/v1/messages", "", "GET").status, 405u);
  EXPECT_THAT(exchange("/v1/models/nobody", "", "GET").text, HasSubstr(R"("type":"not_found_error")"));
  expect_untouched();
}

TEST(AnthropicErrors, AConversationThatIsTooLongIsSaidInTheWordsThatClientsKnow) {
  const auto error =
      protocol::context_exceeded({.n_prompt_tokens = 24'794, .n_ctx = 8'192}, "load it larger", "messages");
  EXPECT_EQ(protocol::error_body(error, protocol::Style::anthropic),
            R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 24794 tokens > )"
            R"(8192 maximum; load it larger"}})");
}

TEST_F(AnthropicTest, ModelsAreThoseThatConverse) {
  const auto list = exchange("/v1/models?limit=1", "", "GET").json();
  EXPECT_EQ(list.at("data").as_array().size(), 1u);
  const auto& first = list.at("data").at(0);
  EXPECT_EQ(first.at("type").as_string(), "model");
  EXPECT_EQ(first.at("id").as_string(), "tiny-llama");
  EXPECT_EQ(first.at("display_name").as_string(), "tiny-llama");
  EXPECT_THAT(std::string(first.at("created_at").as_string()), testing::MatchesRegex("2[0-9-]+T[0-9:]+Z"));
  EXPECT_TRUE(list.at("has_more").as_bool());
  EXPECT_EQ(list.at("first_id").as_string(), "tiny-llama");
  const auto rest =
      exchange("/v1/models?limit=5&after_id=" + std::string(list.at("last_id").as_string()), "", "GET").json();
  EXPECT_EQ(rest.at("data").as_array().size(), 1u);
  EXPECT_EQ(rest.at("data").at(0).at("id").as_string(), "tiny-qwen3");
  EXPECT_FALSE(rest.at("has_more").as_bool());
  const auto one = exchange("/v1/models/tiny-qwen3", "", "GET").json();
  EXPECT_EQ(one.at("type").as_string(), "model");
  EXPECT_EQ(one.at("id").as_string(), "tiny-qwen3");
  EXPECT_THAT(exchange("/v1/models?limit=0", "", "GET").text, HasSubstr("'limit' must be"));
  EXPECT_THAT(get("/v1/models").text, HasSubstr(R"("object":"list")")) << "as OpenAI lists them to all others";
  expect_untouched();
}

TEST(AnthropicModels, Pages) {
  std::vector<AnthropicModel> all;
  for (const char* id : {"a", "b", "c", "d"}) all.push_back({.id = id});
  const auto ids = [&](std::string_view query) {
    const auto page = anthropic_models(all, query);
    if (!page) return page.error().message;
    const auto value = *json::parse(*page);
    std::string text;
    for (const auto& model : value.at("data").as_array()) text += model.at("id").as_string();
    return text + (value.at("has_more").as_bool() ? "+" : "");
  };
  EXPECT_EQ(ids(""), "abcd");
  EXPECT_EQ(ids("limit=2"), "ab+");
  EXPECT_EQ(ids("limit=2&after_id=b"), "cd");
  EXPECT_EQ(ids("limit=1&after_id=b"), "c+");
  EXPECT_EQ(ids("after_id=d"), "");
  EXPECT_EQ(ids("before_id=c"), "ab");
  EXPECT_EQ(ids("limit=1&before_id=c"), "b+");
  EXPECT_EQ(ids("after_id=gone"), "abcd");
  for (const auto* wrong : {"limit=-1", "limit=x", "limit=1001", "limit="})
    EXPECT_THAT(ids(wrong), HasSubstr("'limit'"));
}

}  // namespace
}  // namespace corral::api
