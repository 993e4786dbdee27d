// What the endpoints answer when all is well, and how their answers follow what happens in memory.
#include <future>

#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

using testing::Not;

constexpr const char* kChat = R"({"model":"tiny-llama","messages":[{"role":"user","content":"x"}]})";

// ---- inference

TEST_F(ApiTest, ChatGoesToItsModelUntouched) {
  auto chat = send("POST", "/v1/chat/completions", kChat);
  backend.server("tiny-llama").finish_load();
  settle();
  auto& request = backend.server("tiny-llama").request();
  EXPECT_EQ(request.body(), kChat);
  EXPECT_EQ(request.head().target, "/v1/chat/completions");
  EXPECT_EQ(request.head().headers.get("X-Request-Id"), "req-7");
  request.answer(200, R"({"id":"x"})");
  settle();
  const auto answer = got(*chat);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200u);
  EXPECT_EQ(answer->text, R"({"id":"x"})");
}

TEST_F(ApiTest, EveryInferencePathReachesTheBackend) {
  backend.load_at_once = true;
  backend.reply = backends::FakeBackend::echo;
  const struct {
    const char* path;
    const char* body;
    const char* model;
    const char* backend_path;
  } kRequests[] = {
      {"chat/completions", kChat, "tiny-llama", "/v1/chat/completions"},
      {"completions", R"({"model":"tiny-qwen3","prompt":"x"})", "tiny-qwen3", "/v1/completions"},
      {"embeddings", R"({"model":"tiny-embed","input":["x"]})", "tiny-embed", "/v1/embeddings"},
      {"embedding", R"({"model":"tiny-embed","content":"x"})", "tiny-embed", "/v1/embedding"},
      {"rerank", R"({"model":"tiny-rerank","query":"x","documents":["y"]})", "tiny-rerank", "/v1/rerank"},
      {"reranking", R"({"model":"tiny-rerank","query":"x","documents":["y"]})", "tiny-rerank", "/v1/rerank"},
      {"reranker", R"({"model":"tiny-rerank","query":"x","documents":["y"]})", "tiny-rerank", "/v1/rerank"},
      {"completion", R"({"model":"tiny-llama","prompt":"x"})", "tiny-llama", "/v1/completion"},
      {"apply-template", kChat, "tiny-llama", "/v1/apply-template"},
      {"tokenize", R"({"model":"tiny-embed","content":"x"})", "tiny-embed", "/v1/tokenize"},
      {"detokenize", R"({"model":"TINY-LLAMA","tokens":[1]})", "tiny-llama", "/v1/detokenize"},
  };
  for (const auto prefix : kPrefixes) {
    for (const auto& [path, body, model, backend_path] : kRequests) {
      const auto answer = post(std::string(prefix) + path, body);
      EXPECT_EQ(answer.status, 200u) << path << answer.text;
      const auto echo = answer.json();
      EXPECT_EQ(json::text_or(echo, "model", ""), model) << path;
      EXPECT_EQ(json::text_or(echo, "path", ""), backend_path);
    }
  }
}

TEST_F(ApiTest, StreamFieldOfAnEndpointThatDoesNotStreamIsIgnored) {
  auto embed = send("POST", "/v1/embeddings", R"({"model":"tiny-embed","input":"x","stream":true})");
  pass(3000ms);
  EXPECT_FALSE(got(*embed));
  backend.server("tiny-embed").finish_load();
  settle();
  backend.server("tiny-embed").request().answer(200, "{}");
  settle();
  const auto answer = got(*embed);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, "{}");
}

TEST_F(ApiTest, ClientThatLeavesWhileItsModelLoadsAbortsTheLoad) {
  auto chat = send("POST", "/v1/chat/completions", kChat);
  EXPECT_THAT(backend.alive(), ElementsAre("tiny-llama"));
  chat.reset();
  settle();
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(ApiTest, FileThatWasJustPutThereIsFound) {
  backend.load_at_once = true;
  backend.reply = backends::FakeBackend::echo;
  models::GgufWriter::model("llama").save(dir / "fresh.gguf");
  EXPECT_EQ(post("/v1/completions", R"({"model":"fresh","prompt":"x"})").status, 200u);
}

// ---- health, live, stats

TEST_F(ApiTest, HealthOfAnEmptyHouse) {
  const auto answer = get("/api/v1/health");
  EXPECT_EQ(answer.status, 200u);
  const auto health = answer.json();
  EXPECT_EQ(json::text_or(health, "status", ""), "ok");
  EXPECT_EQ(json::text_or(health, "version", ""), "1.2.3");
  EXPECT_TRUE(json::find(health, "model_loaded")->is_null());
  EXPECT_TRUE(json::find(health, "checkpoint_loaded")->is_null());
  EXPECT_TRUE(json::find(health, "loading")->is_null());
  EXPECT_THAT(strings(json::find(health, "all_models_loaded")), IsEmpty());
  EXPECT_THAT(strings(json::find(health, "load_queue")), IsEmpty());
  EXPECT_EQ(json::number_or(*json::find(health, "max_models"), "llm", 0), 1);
  EXPECT_EQ(json::number_or(*json::find(health, "pinned_models"), "tts", 7), 0);
  for (const auto* path : {"/health", "/v1/health", "/v0/health", "/api/v0/health"}) EXPECT_EQ(get(path).status, 200u);
  for (const auto* path : {"/live", "/v1/live", "/api/v1/live"}) EXPECT_EQ(get(path).text, R"({"status":"ok"})");
}

TEST_F(ApiTest, HealthNamesFilesAndFoldersWithoutAModelAndWhy) {
  EXPECT_EQ(json::number_or(get("/health").json(), "models_known", 0), 4);
  EXPECT_EQ(json::number_or(get("/health").json(), "model_problem_count", 7), 0);
  std::ofstream(dir / "a-text.gguf") << "no model";
  std::filesystem::create_symlink("nowhere", dir / "gone.gguf");
  registry.rescan();
  const auto health = get("/health").json();
  EXPECT_EQ(json::number_or(health, "model_problem_count", 0), 2);
  const auto& problems = json::find(health, "model_problems")->get_array();
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(json::text_or(problems[0], "path", ""), (dir / "gone.gguf").native()) << "it can't be read";
  EXPECT_EQ(json::text_or(problems[0], "message", ""),
            "'" + (dir / "gone.gguf").native() + "' cannot be read: No such file or directory");
  EXPECT_EQ(json::text_or(problems[1], "path", ""), (dir / "a-text.gguf").native());
}

TEST_F(ApiTest, HealthDescribesWhatIsLoadedAndBusy) {
  have("tiny-llama");
  auto chat = send("POST", "/v1/chat/completions",
                   R"({"model":"tiny-llama","stream":true,"messages":[{"role":"user","content":"x"}]})");
  backend.server("tiny-llama").request().send("data: 1\n\n");
  settle();
  const auto health = get("/health").json();
  EXPECT_EQ(json::text_or(health, "model_loaded", ""), "tiny-llama");
  EXPECT_THAT(std::string(json::text_or(health, "checkpoint_loaded", "")), HasSubstr("tiny-llama.gguf"));
  const auto& server = json::find(health, "all_models_loaded")->get_array().at(0);
  EXPECT_EQ(json::text_or(server, "model_name", ""), "tiny-llama");
  EXPECT_EQ(json::text_or(server, "type", ""), "llm");
  EXPECT_EQ(json::text_or(server, "recipe", ""), "llamacpp");
  EXPECT_EQ(json::text_or(server, "device", ""), "cpu");
  EXPECT_EQ(json::text_or(server, "status", ""), "in_use");
  EXPECT_EQ(json::text_or(server, "backend_health", ""), "busy");
  EXPECT_EQ(json::text_or(server, "backend_url", ""), "fake:tiny-llama");
  for (const auto* flag : {"loaded", "is_busy", "is_streaming", "backend_alive"}) {
    EXPECT_TRUE(json::bool_or(server, flag, false)) << flag;
  }
  EXPECT_FALSE(json::bool_or(server, "pinned", true));
  EXPECT_EQ(json::number_or(server, "active_requests", 0), 1);
  EXPECT_EQ(json::number_or(server, "pid", 0), 4711);
  EXPECT_EQ(json::number_or(server, "memory_bytes", 0), 1024);
  EXPECT_EQ(json::number_or(server, "max_context_window", 0), 2048);
  EXPECT_GT(json::number_or(server, "last_use", 0), 0);
  EXPECT_TRUE(json::find(server, "load_duration_ms"));
  EXPECT_EQ(json::number_or(*json::find(server, "recipe_options"), "parallel", 0), 16);
  EXPECT_THAT(strings(json::find(server, "launch_command")), ElementsAre("fake", "tiny-llama"));

  backend.server("tiny-llama").request().end();
  settle();
  const auto after = get("/health").json();
  const auto& idle = json::find(after, "all_models_loaded")->get_array().at(0);
  EXPECT_FALSE(json::bool_or(idle, "is_busy", true));
  EXPECT_FALSE(json::bool_or(idle, "is_streaming", true));
  EXPECT_EQ(json::text_or(idle, "status", ""), "ready");
}

TEST_F(ApiTest, HealthAnswersWhileModelsLoadAndWait) {
  auto first = send("POST", "/v1/load", R"({"model_name":"tiny-llama"})");
  backend.server("tiny-llama").progress(0.5);
  auto second = send("POST", "/v1/load", R"({"model_name":"tiny-qwen3"})");
  pass(200ms);
  const auto health = get("/health").json();
  const auto* loading = json::find(health, "loading");
  ASSERT_TRUE(loading && loading->is_object());
  EXPECT_EQ(json::text_or(*loading, "model", ""), "tiny-llama");
  EXPECT_EQ(json::number_or(*loading, "progress", 0), 0.5);
  EXPECT_EQ(json::number_or(*loading, "since_ms", 0), 200);
  EXPECT_EQ(json::text_or(*loading, "type", ""), "llm");
  EXPECT_EQ(json::number_or(*loading, "since", 0) + 200, static_cast<double>(epoch_millis(timers.wall_now())));
  const auto& queued = json::find(health, "load_queue")->get_array().at(0);
  EXPECT_EQ(json::text_or(queued, "model", ""), "tiny-qwen3");
  EXPECT_EQ(json::text_or(queued, "type", ""), "llm");
  EXPECT_EQ(json::number_or(queued, "position", 0), 1);
  EXPECT_EQ(json::number_or(queued, "waiting_ms", 0), 200);
  EXPECT_EQ(json::number_or(queued, "waiters", 0), 1);
  EXPECT_TRUE(json::find(queued, "waiting_for"));
}

// Who looks for a model in the list of loaded ones used to find it while its process ended.
TEST_F(ApiTest, HealthListsAModelThatStopsAsStoppingAndNotAsLoaded) {
  have("tiny-llama");
  EXPECT_THAT(strings(json::find(get("/health").json(), "stopping")), IsEmpty());
  backend.stop_at_once = false;
  auto unloading = send("POST", "/v1/unload", R"({"model_name":"tiny-llama"})");
  const auto health = get("/health").json();
  EXPECT_THAT(strings(json::find(health, "all_models_loaded")), IsEmpty());
  EXPECT_TRUE(json::find(health, "model_loaded")->is_null());
  EXPECT_THAT(strings(json::find(health, "stopping"), "model_name"), ElementsAre("tiny-llama"));
  const auto& server = json::find(health, "stopping")->get_array().at(0);
  EXPECT_EQ(json::text_or(server, "status", ""), "evicting");
  EXPECT_EQ(json::text_or(server, "leaving", ""), "unload");
  EXPECT_EQ(json::text_or(server, "backend_health", ""), "stopping");
  EXPECT_FALSE(json::bool_or(server, "loaded", true));
  backend.server("tiny-llama").let_stop();
  settle();
  EXPECT_EQ(got(*unloading)->status, 200u);
  EXPECT_THAT(strings(json::find(get("/health").json(), "stopping")), IsEmpty());
}

TEST_F(ApiTest, StatsAreOfTheLastRequestAndOfAll) {
  const auto none = get("/v1/stats").json();
  EXPECT_EQ(json::number_or(none, "input_tokens", 7), 0);
  have("tiny-llama");
  backend.server("tiny-llama").report({100, 10, 40, 0.25, 80});
  backend.server("tiny-llama").report({10, 5, 4, 0.5, 20});
  const auto stats = get("/v1/stats").json();
  EXPECT_EQ(json::number_or(stats, "input_tokens", 0), 6);
  EXPECT_EQ(json::number_or(stats, "prompt_tokens", 0), 10);
  EXPECT_EQ(json::number_or(stats, "cache_tokens", 0), 4);
  EXPECT_EQ(json::number_or(stats, "output_tokens", 0), 5);
  EXPECT_EQ(json::number_or(stats, "time_to_first_token", 0), 0.5);
  EXPECT_EQ(json::number_or(stats, "tokens_per_second", 0), 20);
  EXPECT_EQ(json::number_or(stats, "request_count_total", 0), 2);
  EXPECT_EQ(json::text_or(stats, "model_name", ""), "tiny-llama");
  EXPECT_EQ(json::number_or(stats, "prompt_tokens_total", 0), 110);
  EXPECT_EQ(json::number_or(stats, "output_tokens_total", 0), 15);
}

// ---- models

TEST_F(ApiTest, ModelsAreListedWithWhatTheirFilesSay) {
  const auto list = get("/v1/models").json();
  EXPECT_EQ(json::text_or(list, "object", ""), "list");
  EXPECT_THAT(strings(json::find(list, "data"), "id"),
              ElementsAre("tiny-embed", "tiny-llama", "tiny-qwen3", "tiny-rerank"));
  EXPECT_THAT(strings(json::find(list, "data"), "type"), ElementsAre("embedding", "llm", "llm", "reranking"));
  const auto model = get("/v1/models/tiny-llama").json();
  EXPECT_EQ(json::text_or(model, "object", ""), "model");
  EXPECT_EQ(json::text_or(model, "owned_by", ""), "corral");
  EXPECT_EQ(json::text_or(model, "recipe", ""), "llamacpp");
  EXPECT_EQ(json::text_or(model, "architecture", ""), "llama");
  EXPECT_EQ(json::number_or(model, "context_length", 0), 2048);
  EXPECT_GT(json::number_or(model, "size_bytes", 0), 100);
  EXPECT_GT(json::number_or(model, "created", 0), 1'600'000'000);
  EXPECT_THAT(strings(json::find(model, "labels")), ElementsAre("chat", "tool-calling"));
  EXPECT_TRUE(json::bool_or(*json::find(model, "capabilities"), "tools", false));
  EXPECT_EQ(json::text_or(*json::find(model, "status"), "value", ""), "unloaded");
}

TEST_F(ApiTest, StatusOfAModelFollowsItsLife) {
  const auto status = [&](const char* id) {
    const auto model = get(std::string("/v1/models/") + id).json();
    return std::string(json::text_or(*json::find(model, "status"), "value", "?"));
  };
  auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama"})");
  EXPECT_EQ(status("tiny-llama"), "loading");
  backend.server("tiny-llama").finish_load();
  settle();
  EXPECT_EQ(status("tiny-llama"), "loaded");
  EXPECT_EQ(status("tiny-qwen3"), "unloaded");
  backend.stop_at_once = false;
  auto unloading = send("POST", "/v1/unload", "{}");
  EXPECT_EQ(status("tiny-llama"), "unloaded");
  backend.server("tiny-llama").let_stop();
  settle();
  auto failing = send("POST", "/v1/load", R"({"model_name":"tiny-qwen3"})");
  for (int i = 0; i < 2; ++i) {
    backend.server("tiny-qwen3").fail_load({make_error_code(backends::errc::load_failed), "broken"});
    settle();
  }
  EXPECT_EQ(got(*failing)->status, 500u);
  EXPECT_EQ(status("tiny-qwen3"), "failed");
}

// The disk has been looked at, and later a file is put there.
class ModelListTest : public ApiTest {
 protected:
  void SetUp() override {
    handler = make_api(other_);
    EXPECT_THAT(get("/v1/models").text, Not(HasSubstr("fresh")));
    models::GgufWriter::model("llama").save(dir / "fresh.gguf");
    timers.advance(3000ms);
  }

 private:
  DiskCatalog by_hand_{registry, threads, timers};
  ApiContext other_{.core = {.router = router, .forwarder = forwarder, .timers = timers, .about = {.version = "1.2.3"}},
                    .bodies = {},
                    .access = {.clock = timers},
                    .files = {.models = by_hand_, .timers = timers}};
};

// It used to wait for the scan it caused.
TEST_F(ModelListTest, WaitsForNoDisk) {
  std::promise<void> disk_answers, scanned;
  threads.post([&] { disk_answers.get_future().wait(); });
  auto asked = send("GET", "/v1/models");
  const auto answer = got(*asked);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->text, Not(HasSubstr("fresh")));
  threads.post([&] { scanned.set_value(); });
  disk_answers.set_value();
  scanned.get_future().wait();
  EXPECT_THAT(get("/v1/models").text, HasSubstr("\"fresh\""));
}

TEST_F(ModelListTest, ShowsWhatIsOnDiskNowIfAsked) {
  EXPECT_THAT(get("/v1/models?rescan=true").text, HasSubstr("\"fresh\""));
}

TEST_F(ApiTest, ModelIdsMayHoldSlashesAndEscapes) {
  models::GgufWriter::model("llama").save(dir / "x/with space.gguf");
  EXPECT_EQ(json::text_or(get("/v1/models/with%20space").json(), "id", ""), "with space");
  EXPECT_EQ(get("/v1/models/no/such/model").status, 404u);
}

// ---- estimate

TEST_F(ApiTest, EstimateSaysWhatALoadWouldTake) {
  MemoryEstimate estimate;
  estimate.devices = {{"cpu", 10, 20, 30, 0}};
  estimate.process = 40;
  backend.estimates["tiny-llama"] = estimate;
  const auto answer = post("/v1/estimate", R"({"model_name":"tiny-llama","ctx_size":512})");
  ASSERT_EQ(answer.status, 200u);
  const auto body = json::parse(answer.text).value();
  EXPECT_EQ(json::text_or(body, "model_name", ""), "tiny-llama");
  const auto* memory = json::find(body, "memory");
  ASSERT_TRUE(memory);
  EXPECT_EQ(json::number_or(*memory, "total", 0), 100);
  EXPECT_EQ(json::number_or(json::find(*memory, "devices")->get_array().at(0), "kv", 0), 20);
  EXPECT_EQ(post("/v1/estimate", R"({"model_name":"nonesuch"})").status, 404u);
  EXPECT_EQ(post("/v1/estimate", R"({"model_name":"tiny-llama","ctx_size":"x"})").status, 400u);
  expect_untouched();
}

}  // namespace
}  // namespace corral::api
