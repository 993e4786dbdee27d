// Rules of docs/residency-rules.md that concern what clients see and no other test states by itself.
#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

constexpr const char* kChat = R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}]})";

class RulebookApi : public ApiTest {
 protected:
  // The entry of a model in all_models_loaded.
  json::Value entry(std::string_view name) {
    const auto health = get("/v1/health").json();
    for (const auto& loaded : json::find(health, "all_models_loaded")->get_array()) {
      if (json::text_or(loaded, "model_name", "") == name) return loaded;
    }
    ADD_FAILURE() << name << " is not in all_models_loaded";
    return {};
  }
  double last_use(std::string_view name) { return json::number_or(entry(name), "last_use", 0); }
  double now() const { return static_cast<double>(epoch_millis(timers.wall_now())); }
};

TEST_F(RulebookApi, HealthNamesTheModelThatWasLoadedLastAndListsAll) {
  have("tiny-embed");
  have("tiny-llama");
  auto health = get("/v1/health").json();
  EXPECT_EQ(json::text_or(health, "model_loaded", ""), "tiny-llama");
  have("tiny-rerank");
  health = get("/v1/health").json();
  EXPECT_EQ(json::text_or(health, "model_loaded", ""), "tiny-rerank");
  EXPECT_THAT(std::string(json::text_or(health, "checkpoint_loaded", "")), HasSubstr("tiny-rerank.gguf"));
  const std::pair<const char*, const char*> rows[] = {
      {"tiny-embed", "embedding"}, {"tiny-llama", "llm"}, {"tiny-rerank", "reranking"}};
  EXPECT_EQ(json::find(health, "all_models_loaded")->get_array().size(), std::size(rows));
  for (const auto& [name, type] : rows) {
    const auto loaded = entry(name);
    EXPECT_EQ(json::text_or(loaded, "type", ""), type);
    EXPECT_THAT(std::string(json::text_or(loaded, "checkpoint", "")), HasSubstr(name));
    EXPECT_EQ(json::text_or(loaded, "backend_url", ""), std::string("fake:") + name);
    EXPECT_TRUE(json::find(loaded, "device"));
    EXPECT_EQ(json::number_or(loaded, "last_use", 0), now());
  }
}

// Used again is not loaded again.
TEST_F(RulebookApi, ARequestDoesNotChangeWhichModelWasLoadedLast) {
  backend.reply = backends::FakeBackend::echo;
  have("tiny-llama");
  have("tiny-embed");
  EXPECT_EQ(post("/v1/chat/completions", kChat).status, 200u);
  EXPECT_EQ(json::text_or(get("/v1/health").json(), "model_loaded", ""), "tiny-embed");
}

// Forgot all when the newest left.
TEST_F(RulebookApi, WhenTheModelLoadedLastHasGoneTheOneBeforeItIsNamed) {
  have("tiny-llama");
  have("tiny-embed");
  EXPECT_EQ(post("/v1/unload", R"({"model_name":"tiny-embed"})").status, 200u);
  EXPECT_EQ(json::text_or(get("/v1/health").json(), "model_loaded", ""), "tiny-llama");
}

TEST_F(RulebookApi, LastUseIsWhenARequestBeganOrEnded) {
  have("tiny-llama");
  EXPECT_EQ(last_use("tiny-llama"), now());
  pass(500ms);
  auto chat = send("POST", "/v1/chat/completions", kChat);
  const double began = now();
  EXPECT_EQ(last_use("tiny-llama"), began);
  pass(500ms);
  EXPECT_EQ(last_use("tiny-llama"), began);
  backend.server("tiny-llama").request().answer(200, "{}");
  settle();
  EXPECT_EQ(got(*chat)->status, 200u);
  EXPECT_EQ(last_use("tiny-llama"), began + 500);
}

TEST_F(RulebookApi, WhereEverySlotIsPinnedWhateverNeedsALoadIs409AndOtherTypesLoad) {
  backend.reply = backends::FakeBackend::echo;
  have("tiny-llama");
  EXPECT_EQ(post("/internal/pin", R"({"model_name":"tiny-llama","pinned":true})").status, 200u);
  const std::pair<const char*, const char*> rows[] = {
      {"/api/v1/load", R"({"model_name":"tiny-qwen3"})"},
      {"/v1/chat/completions", R"({"model":"tiny-qwen3","messages":[{"role":"user","content":"x"}]})"},
      {"/v1/chat/completions", R"({"model":"tiny-qwen3","stream":true,"messages":[{"role":"user","content":"x"}]})"},
      {"/v1/completions", R"({"model":"tiny-qwen3","prompt":"x"})"},
  };
  for (const auto& [path, body] : rows) {
    const auto answer = post(path, body);
    EXPECT_EQ(answer.status, 409u) << path;
    EXPECT_EQ(answer.error("code"), "slots_pinned_error");
  }
  EXPECT_EQ(post("/v1/chat/completions", kChat).status, 200u);
  have("tiny-embed");
  EXPECT_EQ(post("/internal/pin", R"({"model_name":"tiny-llama","pinned":false})").status, 200u);
  backend.load_at_once = true;
  EXPECT_EQ(post(rows[0].first, rows[0].second).status, 200u);
  EXPECT_THAT(backend.alive(), ElementsAre("tiny-embed", "tiny-qwen3"));
}

TEST_F(RulebookApi, ALoadMayPinAndAPinReloadsNothing) {
  backend.load_at_once = true;
  EXPECT_EQ(post("/api/v1/load", R"({"model_name":"tiny-llama","pinned":true})").status, 200u);
  EXPECT_TRUE(json::bool_or(entry("tiny-llama"), "pinned", false));
  for (const auto* pinned : {"false", "true"}) {
    EXPECT_EQ(post("/internal/pin", std::string(R"({"model_name":"tiny-llama","pinned":)") + pinned + "}").status,
              200u);
    EXPECT_EQ(json::bool_or(entry("tiny-llama"), "pinned", false), std::string_view(pinned) == "true");
  }
  EXPECT_EQ(backend.loads("tiny-llama"), 1u);
}

// One that can't be answered is no use of a model, and loads none.
TEST_F(RulebookApi, AResponseOfTheWrongModelTouchesNobody) {
  have("tiny-embed");
  const auto before = last_use("tiny-embed");
  pass(500ms);
  EXPECT_EQ(post("/v1/responses", R"({"model":"tiny-embed","input":"x"})").status, 400u);
  EXPECT_EQ(post("/v1/responses", R"({"model":"tiny-llama","input":7})").status, 400u);
  EXPECT_EQ(last_use("tiny-embed"), before);
  EXPECT_THAT(backend.alive(), ElementsAre("tiny-embed"));
}

// It is a chat to whoever answers, and a use of its model.
TEST_F(RulebookApi, AResponseIsAUseOfItsModel) {
  have("tiny-llama");
  const auto before = last_use("tiny-llama");
  pass(500ms);
  auto asking = send("POST", "/v1/responses", R"({"model":"tiny-llama","input":"x"})");
  auto& request = backend.server("tiny-llama").request();
  EXPECT_EQ(request.head().target, "/v1/chat/completions");
  request.answer(200, R"({"id":"chatcmpl-1","choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}]})");
  settle();
  EXPECT_THAT(got(*asking)->text, HasSubstr(R"("object":"response")"));
  EXPECT_NE(last_use("tiny-llama"), before);
}

TEST_F(RulebookApi, AMissingFileIs404AndEvictsNobody) {
  have("tiny-embed");
  auto loading = send("POST", "/api/v1/load", R"({"model_name":"tiny-llama"})");
  backend.server("tiny-llama").fail_load({make_error_code(backends::errc::model_file_not_found), "the file is gone"});
  settle();
  const auto answer = got(*loading);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404u);
  EXPECT_EQ(answer->error("code"), "model_file_not_found");
  EXPECT_EQ(backend.loads("tiny-llama"), 1u);
  EXPECT_THAT(backend.alive(), ElementsAre("tiny-embed"));
}

}  // namespace
}  // namespace corral::api
