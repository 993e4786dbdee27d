// Paths without a prefix, and requests that name no model.
#include "api/api_fixture_for_tests.h"
#include "api/inference/model_of_request.h"

namespace corral::api {
namespace {

using RootTest = ApiTest;

constexpr const char* kChat = R"({"messages":[{"role":"user","content":"x"}]})";

TEST_F(RootTest, ThePathsOfLlamaServerReachTheEngine) {
  backend.load_at_once = true;
  backend.reply = backends::FakeBackend::echo;
  const struct {
    const char* path;
    const char* body;
    const char* model;
    const char* backend_path;
  } kRequests[] = {
      {"/chat/completions", R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}]})", "tiny-llama",
       "/v1/chat/completions"},
      {"/completion", R"({"model":"tiny-llama","prompt":"x"})", "tiny-llama", "/v1/completion"},
      {"/completions", R"({"model":"tiny-llama","prompt":"x"})", "tiny-llama", "/v1/completion"},
      {"/apply-template", R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}]})", "tiny-llama",
       "/v1/apply-template"},
      {"/embedding", R"({"model":"tiny-embed","content":"x"})", "tiny-embed", "/v1/embedding"},
      {"/embeddings", R"({"model":"tiny-embed","input":["x"]})", "tiny-embed", "/v1/embedding"},
      {"/rerank", R"({"model":"tiny-rerank","query":"x","documents":["y"]})", "tiny-rerank", "/v1/rerank"},
      {"/reranking", R"({"model":"tiny-rerank","query":"x","documents":["y"]})", "tiny-rerank", "/v1/rerank"},
      {"/tokenize", R"({"model":"tiny-embed","content":"x"})", "tiny-embed", "/v1/tokenize"},
      {"/detokenize", R"({"model":"tiny-llama","tokens":[1]})", "tiny-llama", "/v1/detokenize"},
  };
  for (const auto& [path, body, model, backend_path] : kRequests) {
    const auto answer = post(path, body);
    EXPECT_EQ(answer.status, 200u) << path << answer.text;
    EXPECT_EQ(json::text_or(answer.json(), "model", ""), model) << path;
    EXPECT_EQ(json::text_or(answer.json(), "path", ""), backend_path);
    EXPECT_EQ(get(path).status, 405u) << path;
  }
  EXPECT_EQ(get("/models").text, get("/v1/models").text);
}

TEST_F(RootTest, ResponsesNeedNoPrefix) {
  backend.load_at_once = true;
  backend.reply = [](const backends::FakeServer&, const http::RequestHead& head, std::string_view) {
    return Result<http::Response>(http::Response::json(
        200, head.target.ends_with("input_tokens")
                 ? R"({"object":"response.input_tokens","input_tokens":7})"
                 : R"({"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],)"
                   R"("usage":{"completion_tokens":4,"prompt_tokens":9}})"));
  };
  const auto answer = post("/responses", R"({"model":"tiny-llama","input":"x"})");
  EXPECT_EQ(answer.status, 200u) << answer.text;
  EXPECT_EQ(json::text_or(answer.json(), "object", ""), "response");
  EXPECT_EQ(post("/responses/input_tokens", R"({"model":"tiny-llama","input":"x"})").text,
            R"({"object":"response.input_tokens","input_tokens":7})");
}

TEST_F(RootTest, SaysThatItRuns) {
  for (const auto* method : {"GET", "HEAD"}) EXPECT_EQ(ask(method, "/").status, 200u);
  const auto text = get("/");
  EXPECT_EQ(text.text, "corral is running\n");
  EXPECT_THAT(std::string(text.headers.get("Content-Type")), testing::StartsWith("text/plain"));
  EXPECT_EQ(post("/", "{}").status, 405u);
  const auto asked = [this](const char* accept) {
    http::Request request;
    request.head.method = "GET";
    request.head.target = "/";
    request.head.headers.set("Accept", accept);
    auto response = async::run_blocking(loop, handler->handle(std::move(request)));
    return std::string(response.head.headers.get("Content-Type"));
  };
  EXPECT_EQ(asked("application/json"), "application/json");
  EXPECT_THAT(asked("text/html,application/json;q=0.9"), testing::StartsWith("text/plain")) << "a browser";
  EXPECT_THAT(asked("*/*"), testing::StartsWith("text/plain"));
}

TEST_F(RootTest, PropsAreThoseOfTheLoadedModel) {
  backend.reply = [](const backends::FakeServer& server, const http::RequestHead& head, std::string_view) {
    return Result<http::Response>(
        http::Response::json(200, R"({"model":")" + server.model() + R"(","path":")" + head.target + R"("})"));
  };
  const auto house = get("/props").json();
  EXPECT_EQ(json::text_or(house, "role", ""), "router") << "there are several, and none is loaded";
  EXPECT_EQ(post("/props", "{}").status, 200u);
  have("tiny-llama");
  for (const auto* path : {"/props", "/props?model=Tiny-Llama"}) {
    const auto answer = get(path);
    EXPECT_EQ(answer.status, 200u);
    EXPECT_EQ(json::text_or(answer.json(), "model", ""), "tiny-llama");
    EXPECT_EQ(json::text_or(answer.json(), "path", ""), "/props");
  }
  const auto other = get("/props?model=tiny-qwen3");
  EXPECT_EQ(other.status, 404u);
  EXPECT_EQ(other.error("code"), "model_not_loaded");
  EXPECT_EQ(other.error("param"), "model");
  EXPECT_THAT(backend.alive(), ElementsAre("tiny-llama"));
}

// --seed 42 was 4294967295 there.
TEST_F(RootTest, PropsOfTheOneModelHaveTheDefaultsOfRequests) {
  backend.reply = [](const backends::FakeServer&, const http::RequestHead&, std::string_view) {
    return Result<http::Response>(http::Response::json(
        200, R"({"default_generation_settings":{"n_ctx":64,"params":{"seed":4294967295,"temperature":0.8,)"
             R"("n_predict":-1,"max_tokens":-1}},"is_sleeping":false})"));
  };
  have("tiny-embed");
  context.filters.request_defaults = R"({"seed":42,"n_predict":8,"verbose":true})";
  context.core.one_model = true;
  EXPECT_EQ(get("/props").text, R"({"default_generation_settings":{"n_ctx":64,"params":{"seed":42,"temperature":0.8,)"
                                R"("n_predict":8,"max_tokens":8}},"is_sleeping":false})");
}

TEST_F(RootTest, AdaptersAreThoseOfTheLoadedModel) {
  backend.reply = [](const backends::FakeServer& server, const http::RequestHead& head, std::string_view body) {
    if (body == "bad") return Result<http::Response>(http::Response::json(400, R"({"error":{"code":"bad"}})"));
    return Result<http::Response>(http::Response::json(200, R"({"model":")" + server.model() + R"(","method":")" +
                                                                head.method + R"(","path":")" + head.target + R"("})"));
  };
  EXPECT_EQ(get("/lora-adapters").error("code"), "missing_required_parameter");
  have("tiny-llama");
  for (const auto* method : {"GET", "POST"}) {
    const auto answer = ask(method, "/lora-adapters?model=tiny-llama");
    EXPECT_EQ(answer.status, 200u);
    EXPECT_EQ(json::text_or(answer.json(), "method", ""), method);
    EXPECT_EQ(json::text_or(answer.json(), "path", ""), "/lora-adapters");
  }
  EXPECT_EQ(post("/lora-adapters", "bad").status, 400u) << "as the engine says";
  EXPECT_EQ(post("/lora-adapters?model=tiny-qwen3", "[]").error("code"), "model_not_loaded");
}

TEST_F(RootTest, SlotsDoNotStay) {
  const auto answer = post("/slots/0?action=save", R"({"filename":"a.bin"})");
  EXPECT_EQ(answer.status, 400u);
  EXPECT_EQ(answer.error("code"), "unsupported_value");
  EXPECT_THAT(answer.error("message"), HasSubstr("'action' cannot be \"save\": slots are not persistent"));
  for (const auto* path : {"/slots/3?action=erase", "/v1/slots/3?action=erase"})
    EXPECT_EQ(post(path, "").text, R"({"id_slot":3,"n_erased":0})");
  EXPECT_EQ(post("/slots/x?action=erase", "").error("param"), "id");
}

// As with llama-server's --no-models-autoload.
TEST_F(RootTest, RequestsMayBeSetToLoadNothing) {
  backend.reply = backends::FakeBackend::echo;
  context.inference.models_autoload = false;
  EXPECT_FALSE(get("/props").json().at("models_autoload").as_bool());
  constexpr const char* kAsked = R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}]})";
  const auto refused = post("/v1/chat/completions", kAsked);
  EXPECT_EQ(refused.status, 400u);
  EXPECT_EQ(refused.error("message"),
            "'tiny-llama' is not in memory, and this request does not load models (autoload=false, or the setting "
            "models_autoload is off): load it first with POST /v1/load");
  EXPECT_EQ(post("/upstream/tiny-llama/tokenize", R"({"content":"x"})").error("message"), refused.error("message"));
  expect_untouched();
  have("tiny-llama");
  EXPECT_EQ(post("/v1/chat/completions", kAsked).status, 200u);
  EXPECT_EQ(post("/upstream/tiny-llama/tokenize", R"({"content":"x"})").status, 200u);
  backend.load_at_once = true;
  EXPECT_EQ(post("/v1/embeddings?autoload=true", R"({"model":"tiny-embed","input":"x"})").status, 200u);
}

TEST_F(RootTest, TheOneModelComesBackAlthoughRequestsLoadNothing) {
  backend.load_at_once = true;
  backend.reply = backends::FakeBackend::echo;
  context.core.one_model = true;
  context.inference.models_autoload = false;
  EXPECT_EQ(post("/tokenize", R"({"content":"x"})").status, 200u);
}

TEST_F(RootTest, SlotsMayBeOff) {
  EXPECT_EQ(get("/slots").status, 200u);
  context.llama.slots = false;
  for (const auto* path : {"/slots", "/v1/slots"}) {
    const auto answer = get(path);
    EXPECT_EQ(answer.status, 501u);
    EXPECT_EQ(answer.error("type"), "not_supported_error");
    EXPECT_EQ(answer.error("message"), "slots are off: start the server with --slots");
  }
}

TEST_F(RootTest, WithoutANameTheOnlyLoadedModelOfTheTypeAnswers) {
  backend.load_at_once = true;
  backend.reply = backends::FakeBackend::echo;
  const auto answered_by = [this](const char* path, const char* body) {
    const auto answer = post(path, body);
    return answer.status == 200 ? std::string(json::text_or(answer.json(), "model", "?")) : answer.error("message");
  };
  EXPECT_THAT(answered_by("/v1/chat/completions", kChat), HasSubstr("no model of type llm is loaded; available:"));
  have("tiny-llama");
  EXPECT_EQ(answered_by("/v1/chat/completions", kChat), "tiny-llama");
  EXPECT_EQ(answered_by("/tokenize", R"({"content":"x"})"), "tiny-llama");
  have("tiny-embed");
  EXPECT_EQ(answered_by("/v1/chat/completions", kChat), "tiny-llama");
  EXPECT_EQ(answered_by("/v1/embeddings", R"({"input":"x"})"), "tiny-embed");
  EXPECT_THAT(answered_by("/tokenize", R"({"content":"x"})"),
              HasSubstr("more than one model is loaded: 'tiny-llama', 'tiny-embed'"));
  EXPECT_THAT(answered_by("/v1/chat/completions", "{}"), HasSubstr("'messages' is required")) << "fields come first";
  EXPECT_EQ(backend.servers().size(), 2u);
}

TEST_F(RootTest, WithoutANameTheOnlyModelOfTheTypeIsLoaded) {
  backend.load_at_once = true;
  backend.reply = backends::FakeBackend::echo;
  for (const auto& [path, body, model] : {std::tuple("/v1/embeddings", R"({"input":"x"})", "tiny-embed"),
                                          std::tuple("/embedding", R"({"model":null,"content":"x"})", "tiny-embed"),
                                          std::tuple("/api/embed", R"({"input":"x"})", "tiny-embed"),
                                          std::tuple("/rerank", R"({"query":"x","documents":["y"]})", "tiny-rerank")}) {
    const auto answer = post(path, body);
    EXPECT_EQ(answer.status, 200u) << path << answer.text;
    EXPECT_THAT(backend.alive(), testing::Contains(model)) << path;
  }
  EXPECT_EQ(post("/v1/chat/completions", kChat).status, 400u) << "there are two";
  EXPECT_EQ(json::text_or(get("/props").json(), "role", ""), "router");
}

TEST_F(RootTest, PropsHaveTheLimitOfNow) {
  EXPECT_EQ(json::number_or(get("/props").json(), "max_instances", -1), 1);
  router::RouterOptions changed;
  for (const auto& [setting, shown] : {std::pair("3", 3), std::pair("-1", 0)}) {
    changed.residency.limits = *residency::parse_max_loaded_models(setting);
    router.change(changed);
    EXPECT_EQ(json::number_or(get("/props").json(), "max_instances", -1), shown);
  }
}

TEST_F(RootTest, OneOfSeveralIsNotGuessed) {
  router::RouterOptions two;
  two.residency.limits = *residency::parse_max_loaded_models("2");
  router.change(two);
  have("tiny-llama");
  have("tiny-qwen3");
  const auto refused = post("/v1/chat/completions", kChat);
  EXPECT_EQ(refused.status, 400u);
  EXPECT_EQ(refused.error("param"), "model");
  EXPECT_THAT(refused.error("message"),
              HasSubstr("more than one model of type llm is loaded: 'tiny-llama', 'tiny-qwen3'"));
}

TEST_F(RootTest, OneModelThatWasGivenAnswersToEveryName) {
  backend.load_at_once = true;
  backend.reply = backends::FakeBackend::echo;
  context.core.one_model = true;
  const auto first = std::string(registry.catalog()->models().front()->name.value());
  for (const auto* body : {R"({"content":"x"})", R"({"content":"x","model":"gpt-4"})"}) {
    EXPECT_EQ(post("/tokenize", body).status, 200u) << body;
  }
  EXPECT_THAT(backend.alive(), ElementsAre(first));
}

TEST_F(RootTest, TheListHasTheNamesAndTagsOfTheGivenModel) {
  models::RegistryOptions options;
  options.given = models::GivenModel{dir / "tiny-llama.gguf", {"also", "mine"}, std::nullopt, {"small", "fast"}};
  registry.look_at(options);
  registry.rescan();
  const auto models = get("/models").json().at("data").as_array();
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(json::text_or(models.front(), "id", ""), "also");
  EXPECT_EQ(json::serialize(models.front().at("aliases")), R"(["also","mine"])");
  EXPECT_EQ(json::serialize(models.front().at("tags")), R"(["small","fast"])");
}

TEST_F(RootTest, RequestsForTheOneModelAreToldThatItsDownloadRuns) {
  models::RegistryOptions options;
  options.given = models::GivenModel();
  registry.look_at(options);
  registry.rescan();
  context.core.one_model = true;
  context.inference.given_is_loading = true;
  const auto answer = post("/tokenize", R"({"content":"x"})");
  EXPECT_EQ(answer.status, 503u);
  EXPECT_EQ(answer.headers.get("Retry-After"), "5");
  EXPECT_EQ(answer.error("message"), "the model of this server is not here yet: its download runs, so try again later");
}

TEST_F(RootTest, HealthSaysWhenTheGivenModelIsLoading) {
  EXPECT_EQ(get("/health").status, 200u);
  context.inference.given_is_loading = true;
  const auto loading = get("/health");
  EXPECT_EQ(loading.status, 503u);
  EXPECT_EQ(loading.error("type"), "unavailable_error");
  EXPECT_EQ(get("/v1/health").status, 200u) << "of the server itself";
}

}  // namespace
}  // namespace corral::api
