// Ollama's API over the real registry and router: requests and streams, how long models stay, lists, what is refused.
#include <ctime>
#include <tuple>

#include "api/access/rights.h"
#include "api/api_fixture_for_tests.h"
#include "dialects/error_filter.h"
#include "http/sse.h"

namespace corral::api {
namespace {

constexpr const char* kHi = R"("messages":[{"role":"user","content":"hi"}])";

class OllamaTest : public ApiTest {
 protected:
  std::string chat_body(const std::string& more) {
    return std::string(R"({"model":"tiny-llama:latest",)") + kHi + (more.empty() ? "" : ",") + more + "}";
  }
  // Of a model in memory.
  Answer chat(const std::string& more) {
    auto asking = send("POST", "/api/chat", chat_body(R"("stream":false)" + (more.empty() ? "" : "," + more)));
    backend.server("tiny-llama").request().answer(200, kAnswer);
    settle();
    return *got(*asking);
  }
  // Seconds from now on; nothing: it isn't in memory.
  std::optional<std::int64_t> lasts(const std::string& name) {
    const auto ps = get("/api/ps").json();
    for (const auto& model : ps.at("models").as_array()) {
      if (json::text_or(model, "name", "") != name) continue;
      std::tm parts{};
      EXPECT_NE(::strptime(std::string(json::text_or(model, "expires_at", "")).c_str(), "%Y-%m-%dT%H:%M:%S", &parts),
                nullptr);
      return ::timegm(&parts) - std::chrono::floor<std::chrono::seconds>(timers.wall_now()).time_since_epoch().count();
    }
    return std::nullopt;
  }
  // With a key's rights.
  Answer as(std::uint32_t rights, std::string path, std::string body) {
    http::Request request;
    request.head = {"POST", std::move(path), {}};
    request.body = http::Body(std::move(body));
    request.id = RequestId("req-9");
    request.caller = {.rights = rights, .key = "a key"};
    return finish(*start(std::move(request)));
  }
  static constexpr const char* kAnswer =
      R"({"choices":[{"index":0,"message":{"role":"assistant","content":"ho"},"finish_reason":"stop"}]})";
};

TEST_F(OllamaTest, AChatIsAskedInTheCanonicalFormAndToldInLines) {
  have("tiny-llama");
  auto asking = send("POST", "/api/chat", chat_body(""));
  auto& request = backend.server("tiny-llama").request();
  EXPECT_EQ(request.head().target, "/v1/chat/completions");
  EXPECT_THAT(request.body(), HasSubstr(R"("stream":true)"));
  request.send(http::sse_data(R"({"choices":[{"index":0,"delta":{"content":"ho"}}]})"));
  request.send(std::string(http::kSseDone));
  request.end();
  settle();
  const auto answer = got(*asking);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->headers.get("Content-Type"), "application/x-ndjson");
  EXPECT_THAT(answer->text, testing::StartsWith(R"({"model":"tiny-llama:latest","created_at":"1970-01-02T)"));
  EXPECT_THAT(answer->text, HasSubstr(R"("message":{"role":"assistant","content":"ho"},"done":false})"));
}

TEST_F(OllamaTest, RawPromptsGoToCompletions) {
  have("tiny-llama");
  auto asking = send("POST", "/api/generate", R"({"model":"tiny-llama","prompt":"Once","raw":true,"stream":false})");
  auto& request = backend.server("tiny-llama").request();
  EXPECT_EQ(request.head().target, "/v1/completions");
  request.answer(200, R"({"choices":[{"index":0,"text":" upon","finish_reason":"stop"}]})");
  settle();
  EXPECT_THAT(got(*asking)->text, HasSubstr(R"("response":" upon","done":true)"));
}

TEST_F(OllamaTest, TheWaitForTheModelIsTheLoadDuration) {
  auto asking = send("POST", "/api/chat", chat_body(R"("stream":false)"));
  pass(3000ms);
  backend.server("tiny-llama").finish_load();
  settle();
  backend.server("tiny-llama").request().answer(200, kAnswer);
  settle();
  EXPECT_THAT(got(*asking)->text, HasSubstr(R"("total_duration":3000000000,"load_duration":3000000000)"));
}

TEST_F(OllamaTest, AModelStaysAsLongAsItsLatestRequestSays) {
  have("tiny-llama");
  EXPECT_GT(*lasts("tiny-llama"), 24 * 365 * 3600) << "by itself it stays";
  EXPECT_EQ(chat(R"("keep_alive":"90s")").status, 200u);
  EXPECT_THAT(*lasts("tiny-llama"), testing::AllOf(testing::Ge(88), testing::Le(91)));
  chat("");
  EXPECT_LE(*lasts("tiny-llama"), 91) << "said once, it holds";
  chat(R"("keep_alive":-1)");
  EXPECT_GT(*lasts("tiny-llama"), 24 * 365 * 3600);
  EXPECT_FALSE(get("/v1/health").json().at("all_models_loaded").at(0).at("pinned").as_bool());
  chat(R"("keep_alive":2)");
  pass(5000ms);
  EXPECT_EQ(lasts("tiny-llama"), std::nullopt);
}

TEST_F(OllamaTest, WhatIsSaidWhileItLoadsHoldsOnceItIsThere) {
  auto asking = send("POST", "/api/chat", chat_body(R"("keep_alive":60)"));
  pass(2000ms);
  backend.server("tiny-llama").finish_load();
  settle();
  auto& request = backend.server("tiny-llama").request();
  request.send(std::string(http::kSseDone));
  request.end();
  settle();
  EXPECT_LE(*lasts("tiny-llama"), 61);
}

TEST_F(OllamaTest, NothingSaidToItLoadsAndUnloads) {
  auto asking = send("POST", "/api/generate", R"({"model":"tiny-llama","keep_alive":"5m"})");
  backend.server("tiny-llama").finish_load();
  settle();
  const auto loaded = got(*asking);
  ASSERT_TRUE(loaded);
  EXPECT_THAT(loaded->text, HasSubstr(R"("response":"","done":true,"done_reason":"load")"));
  EXPECT_LE(*lasts("tiny-llama"), 301);
  asking = send("POST", "/api/chat", R"({"model":"tiny-llama","messages":[],"keep_alive":0})");
  EXPECT_THAT(got(*asking)->text,
              HasSubstr(R"("message":{"role":"assistant","content":""},"done":true,"done_reason":"unload")"));
  pass(2000ms);
  EXPECT_EQ(lasts("tiny-llama"), std::nullopt);
  EXPECT_THAT(post("/api/chat", R"({"model":"tiny-llama","keep_alive":0})").text,
              HasSubstr(R"("done_reason":"unload")"))
      << "it is gone, as was wanted";
}

// It was 400: the model is not in memory.
TEST_F(OllamaTest, AnUnloadNeedsNoModelInMemoryIfRequestsLoadNothing) {
  context.inference.models_autoload = false;
  EXPECT_THAT(post("/api/generate", R"({"model":"tiny-llama","keep_alive":0})").text,
              HasSubstr(R"("done_reason":"unload")"));
  EXPECT_EQ(post("/api/generate", R"({"model":"tiny-llama","keep_alive":"5m"})").status, 400u);
  expect_untouched();
}

TEST_F(OllamaTest, AnyTypeOfModelIsLoadedByAnyOfTheCalls) {
  auto asking = send("POST", "/api/generate", R"({"model":"tiny-embed"})");
  backend.server("tiny-embed").finish_load();
  settle();
  EXPECT_EQ(got(*asking)->status, 200u);
}

TEST_F(OllamaTest, HowLongModelsStayIsUpToAdmins) {
  have("tiny-llama");
  auto asking = as(kInference, "/api/generate", R"({"model":"tiny-llama","keep_alive":0})");
  EXPECT_EQ(asking.status, 403u);
  EXPECT_EQ(asking.error("param"), "keep_alive");
  EXPECT_EQ(as(kInference, "/api/generate", R"({"model":"tiny-llama","keep_alive":1})").status, 200u) << "loads it";
  pass(5000ms);
  EXPECT_TRUE(lasts("tiny-llama"));
}

TEST_F(OllamaTest, MoreContextThanAModelCanHaveIsWhatItCanHave) {
  have("tiny-llama");
  EXPECT_EQ(chat(R"("options":{"num_ctx":1000000})").status, 200u);
  EXPECT_EQ(backend.servers().size(), 1u);
}

TEST_F(OllamaTest, Lists) {
  have("tiny-llama");
  const auto tags = get("/api/tags").json();
  const auto& models = tags.at("models").as_array();
  EXPECT_EQ(models.size(), 3u) << "no call is for a reranker";
  const auto& first = models.front();
  for (const auto* member : {"name", "model", "size", "digest", "details", "modified_at"}) {
    EXPECT_NE(json::find(first, member), nullptr) << member;
  }
  EXPECT_EQ(first.at("digest").as_string().size(), 64u);
  EXPECT_NE(first.at("digest"), models.back().at("digest"));
  const auto ps = get("/api/ps").json();
  ASSERT_EQ(ps.at("models").as_array().size(), 1u);
  EXPECT_EQ(ps.at("models").at(0).at("name").as_string(), "tiny-llama");
  const auto shown = post("/api/show", R"({"name":"tiny-embed:latest"})").json();
  EXPECT_EQ(json::serialize(shown.at("capabilities")), R"(["embedding"])");
  EXPECT_EQ(shown.at("model_info").at("general.architecture").as_string(), "bert");
  auto asking = send("POST", "/api/show", R"({"model":"tiny-llama"})");
  auto& props = backend.server("tiny-llama").request();
  EXPECT_EQ(props.head().target, "/props");
  props.answer(200, R"({"chat_template":"{{ jinja }}"})");
  settle();
  const auto loaded = got(*asking)->json();
  EXPECT_EQ(json::serialize(loaded.at("capabilities")), R"(["completion","tools"])");
  EXPECT_EQ(loaded.at("template").as_string(), "{{ jinja }}");
  EXPECT_EQ(get("/api/version").json().at("corral").as_string(), "1.2.3");
}

TEST_F(OllamaTest, ErrorsAreTexts) {
  for (const auto& [method, path, body, status] : {
           std::tuple("POST", "/api/show", "{}", 400u),
           std::tuple("POST", "/api/show", R"({"model":"no"})", 404u),
           std::tuple("POST", "/api/chat", R"({"model":7})", 400u),
           std::tuple("POST", "/api/chat", "[", 400u),
           std::tuple("POST", "/api/pull", R"({"model":"no"})", 404u),
           std::tuple("POST", "/api/pull", "{}", 400u),
           std::tuple("POST", "/api/create", "{}", 400u),
           std::tuple("POST", "/api/push", "{}", 400u),
           std::tuple("POST", "/api/copy", R"({"source":"tiny-llama","destination":"x"})", 400u),
           std::tuple("DELETE", "/api/delete", R"({"model":"tiny-llama"})", 400u),
           std::tuple("GET", "/api/blobs/sha256:0", "", 404u),
           std::tuple("GET", "/api/chat", "", 405u),
           std::tuple("GET", "/api/nothing", "", 404u),
       }) {
    dialects::ErrorFilter filter(*handler);
    http::Request request;
    request.head = {method, path, {}};
    request.body = http::Body(std::string(body));
    request.id = RequestId("req-3");
    request.caller = {.rights = kOpenRights, .key = {}};
    std::optional<http::Response> response;
    async::TaskGroup group(loop.executor());
    auto ask = [](http::Handler& of, http::Request asked, std::optional<http::Response>& into) -> async::Task<void> {
      into = co_await of.handle(std::move(asked));
    };
    group.spawn("ask", ask(filter, std::move(request), response));
    loop.context().restart();
    while (!response) loop.context().run_one();
    settle();
    EXPECT_EQ(response->head.status, status) << path;
    const auto parsed = json::parse(response->body.text());
    ASSERT_TRUE(parsed) << path;
    EXPECT_NE(json::text_or(*parsed, "error", ""), "") << path << response->body.text();
  }
  EXPECT_EQ(post("/api/pull", R"({"model":"tiny-llama:latest"})").text, "{\"status\":\"success\"}\n");
  EXPECT_EQ(post("/api/pull", R"({"model":"tiny-llama","stream":false})").text, R"({"status":"success"})");
  expect_untouched();
}

TEST_F(OllamaTest, WhereOllamaIsLookedForItIsSaidToRun) {
  context.core.about.ollama_port = 11434;
  http::Request request;
  request.head = {"GET", "/", {}};
  request.head.headers.add("Host", "localhost:11434");
  EXPECT_EQ(finish(*start(std::move(request))).text, "Ollama is running");
  EXPECT_EQ(get("/").text, "corral is running\n");
}

}  // namespace
}  // namespace corral::api
