// GET metrics, slots, stats and requests, and cancelling: what is counted, and that nobody waits for an engine that
// hangs.
#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

using testing::Not;

constexpr const char* kCompletion = R"({"model":"tiny-llama","prompt":"x"})";
constexpr const char* kStream = R"({"model":"tiny-llama","stream":true,"messages":[{"role":"user","content":"x"}]})";

// Answers GET /metrics and /slots as an engine does.
Result<http::Response> engine(const backends::FakeServer& server, const http::RequestHead& head, std::string_view) {
  if (head.target == "/slots") return http::Response::json(200, R"([{"id":1,"state":"idle"}])");
  return http::Response::text(200, "text/plain",
                              "# HELP corral_engine_kv_used_cells KV cells in use\n"
                              "# TYPE corral_engine_kv_used_cells gauge\n"
                              "corral_engine_kv_used_cells{model=\"" +
                                  server.model() + "\",worker=\"0\"} 7\n");
}

// Never says anything.
class HangingBody final : public http::BodySource {
 public:
  async::Task<Result<std::string_view>> read() override {
    async::Event never(co_await async::asio::this_coro::executor);
    co_await never.wait();
    co_return std::string_view();
  }
};

class MetricsTest : public ApiTest {
 protected:
  std::string metrics() {
    const auto answer = get("/metrics");
    EXPECT_EQ(answer.status, 200u);
    EXPECT_EQ(answer.headers.get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
    return answer.text;
  }
  // A model in memory whose engine answers from now on.
  void have_answering(const std::string& name) {
    have(name);
    backend.reply = engine;
  }
};

TEST_F(MetricsTest, WhatIsKeptIsCounted) {
  EXPECT_THAT(metrics(), Not(HasSubstr("corral_store_")));
  store::Store store(clock, {.file = dir / "kept.sqlite"});
  context.core.store = &store;
  EXPECT_THAT(metrics(), HasSubstr("corral_store_kept_bytes 0\n"));
  const auto keep = [](store::Store& into) -> async::Task<Result<>> {
    return into.put_now({.id = "r1",
                         .owner = "ann",
                         .created = epoch_millis(std::chrono::system_clock::now()),
                         .status = "completed",
                         .doc = std::string(1'000, 'x'),
                         .input = "[]"});
  };
  async::Loop other;
  ASSERT_TRUE(async::run_blocking(other, keep(store)));
  EXPECT_THAT(metrics(), Not(HasSubstr("corral_store_kept_bytes 0\n")));
  EXPECT_THAT(metrics(), HasSubstr("corral_store_failures_total 0\n"));
  EXPECT_TRUE(store.finish_within(Millis(60'000)));
}

TEST_F(MetricsTest, AnEmptyHouseHasItsGauges) {
  const auto text = metrics();
  for (const auto* line :
       {"corral_info{version=\"1.2.3\"} 1\n", "corral_uptime_seconds 0\n", "corral_loaded_models{type=\"llm\"} 0\n",
        "corral_max_loaded_models{type=\"tts\"} 1\n", "corral_pinned_models{type=\"embedding\"} 0\n",
        "corral_load_queue_length 0\n", "corral_requests{status=\"queued\"} 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, HasSubstr("\nprocess_resident_memory_bytes "));
  EXPECT_THAT(text, HasSubstr("\nprocess_open_fds "));
  for (const auto prefix : kPrefixes) EXPECT_EQ(get(std::string(prefix) + "metrics").status, 200u);
  expect_untouched();
}

TEST_F(MetricsTest, RequestsAreCountedByTheirEnd) {
  have("tiny-llama");
  auto good = send("POST", "/v1/completions", kCompletion);
  backend.server("tiny-llama").request().answer(200, "{}");
  auto bad = send("POST", "/v1/completions", kCompletion);
  backend.server("tiny-llama").request().answer(400, "{}");
  auto broken = send("POST", "/v1/completions", kCompletion);
  backend.server("tiny-llama").request().answer(500, "{}");
  send("POST", "/v1/completions", kCompletion).reset();
  auto streamed = send("POST", "/v1/chat/completions", kStream);
  backend.server("tiny-llama").request().send("data: 1\n\n");
  settle();
  backend.server("tiny-llama").request().end();
  settle();
  backend.reply = engine;
  const auto text = metrics();
  EXPECT_THAT(text, HasSubstr("corral_requests_total{model=\"tiny-llama\",outcome=\"ok\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("corral_requests_total{model=\"tiny-llama\",outcome=\"refused\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("corral_requests_total{model=\"tiny-llama\",outcome=\"failed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("corral_requests_total{model=\"tiny-llama\",outcome=\"cancelled\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("corral_queue_wait_seconds_count{model=\"tiny-llama\"} 5\n"));
}

TEST_F(MetricsTest, AStreamThatBreaksOffHasFailed) {
  have("tiny-llama");
  auto streamed = send("POST", "/v1/chat/completions", kStream);
  backend.server("tiny-llama").request().send("data: 1\n\n");
  settle();
  backend.server("tiny-llama").die();
  settle();
  EXPECT_THAT(got(*streamed)->text, HasSubstr("backend_died"));
  EXPECT_THAT(metrics(), HasSubstr("corral_requests_total{model=\"tiny-llama\",outcome=\"failed\"} 1\n"));
}

TEST_F(MetricsTest, TokensTimesLoadsAndEvictionsAreCounted) {
  auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama"})");
  pass(2000ms);
  backend.server("tiny-llama").finish_load();
  settle();
  backend.server("tiny-llama").report({100, 10, 40, 0.25, 80});
  have("tiny-qwen3");
  backend.server("tiny-qwen3").die();
  settle();
  const auto text = metrics();
  for (const auto* line : {
           "corral_input_tokens_total{model=\"tiny-llama\"} 100\n",
           "corral_cached_tokens_total{model=\"tiny-llama\"} 40\n",
           "corral_output_tokens_total{model=\"tiny-llama\"} 10\n",
           "corral_time_to_first_token_seconds_bucket{model=\"tiny-llama\",le=\"0.1\"} 0\n",
           "corral_time_to_first_token_seconds_bucket{model=\"tiny-llama\",le=\"0.25\"} 1\n",
           "corral_tokens_per_second_sum{model=\"tiny-llama\"} 80\n",
           "corral_load_duration_seconds_sum{model=\"tiny-llama\"} 2\n",
           "corral_loads_total{model=\"tiny-llama\",outcome=\"loaded\"} 1\n",
           "corral_evictions_total{model=\"tiny-llama\",reason=\"room\"} 1\n",
           "corral_crashes_total{model=\"tiny-qwen3\"} 1\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("reason=\"unload\"")));
}

TEST_F(MetricsTest, ModelsInMemoryAndTheirEnginesAreShown) {
  have("tiny-embed");
  have_answering("tiny-llama");
  EXPECT_EQ(post("/internal/pin", R"({"model":"tiny-llama","pinned":true})").status, 200u);
  const auto text = metrics();
  EXPECT_THAT(text, HasSubstr("corral_model_status{model=\"tiny-llama\",type=\"llm\",device=\"cpu\","
                              "recipe=\"llamacpp\",status=\"ready\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("corral_model_pinned{model=\"tiny-llama\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("corral_model_memory_bytes{model=\"tiny-embed\"} 1024\n"));
  EXPECT_THAT(text, HasSubstr("corral_engine_up{model=\"tiny-embed\"} 1\ncorral_engine_up{model=\"tiny-llama\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE corral_engine_kv_used_cells gauge\n"
                              "corral_engine_kv_used_cells{model=\"tiny-embed\",worker=\"0\"} 7\n"
                              "corral_engine_kv_used_cells{model=\"tiny-llama\",worker=\"0\"} 7\n"));
}

TEST_F(MetricsTest, AnEngineThatHangsIsLeftOutAndHoldsUpNobody) {
  have("tiny-embed");
  have("tiny-llama");
  backend.reply = [](const backends::FakeServer& server, const http::RequestHead& head,
                     std::string_view body) -> Result<http::Response> {
    if (server.model() == "tiny-llama") return engine(server, head, body);
    auto hanging = http::Response::event_stream(std::make_unique<HangingBody>());
    return hanging;
  };
  auto asked = send("GET", "/metrics");
  EXPECT_FALSE(got(*asked));
  pass(1000ms);
  const auto answer = got(*asked);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->text,
              HasSubstr("corral_engine_up{model=\"tiny-embed\"} 0\ncorral_engine_up{model=\"tiny-llama\"} 1\n"));
  EXPECT_THAT(answer->text, HasSubstr("corral_engine_kv_used_cells{model=\"tiny-llama\""));
  EXPECT_THAT(answer->text, Not(HasSubstr("corral_engine_kv_used_cells{model=\"tiny-embed\"")));
  auto slots = send("GET", "/v1/slots");
  pass(1000ms);
  EXPECT_EQ(got(*slots)->text, R"([{"model":"tiny-embed","error":"the engine did not respond in time"},)"
                               R"({"model":"tiny-llama","id":1,"state":"idle"}])");
}

TEST_F(MetricsTest, NothingIsLoadedForNumbers) {
  auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama"})");
  EXPECT_THAT(metrics(), HasSubstr("corral_load_progress{model=\"tiny-llama\"} 0\n"));
  EXPECT_EQ(get("/slots").text, "[]");
  EXPECT_THAT(backend.alive(), ElementsAre("tiny-llama"));
  EXPECT_THAT(backend.server("tiny-llama").requests(), IsEmpty());
}

// ---- requests

TEST_F(MetricsTest, RequestsUnderWayAreListed) {
  have("tiny-llama");
  auto running = send("POST", "/v1/chat/completions", kStream);
  auto waiting = send("POST", "/v1/embeddings", R"({"model":"tiny-embed","input":"x"})");
  pass(300ms);
  const auto list = get("/v1/requests").json();
  const auto& requests = json::find(list, "requests")->get_array();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(json::text_or(requests[0], "id", ""), "req-7");
  EXPECT_EQ(json::text_or(requests[0], "model", ""), "tiny-llama");
  EXPECT_EQ(json::text_or(requests[0], "status", ""), "running");
  EXPECT_EQ(json::number_or(requests[0], "waited_ms", 7), 0);
  EXPECT_TRUE(json::bool_or(requests[0], "stream", false));
  EXPECT_EQ(json::text_or(requests[1], "status", ""), "queued");
  EXPECT_EQ(json::text_or(requests[1], "path", ""), "/v1/embeddings");
  EXPECT_EQ(json::number_or(requests[1], "waited_ms", 0), 300);
  running.reset();
  waiting.reset();
  settle();
  EXPECT_EQ(get("/v1/requests").text, R"({"requests":[]})");
}

TEST_F(MetricsTest, CancelEndsARunningRequest) {
  have("tiny-llama");
  auto chat = send("POST", "/v1/completions", kCompletion);
  const auto cancelled = post("/v1/requests/req-7/cancel", "");
  EXPECT_EQ(cancelled.text, R"({"status":"success","id":"req-7","cancelled":1})");
  settle();
  const auto answer = got(*chat);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 499u);
  EXPECT_EQ(answer->error("code"), "cancelled");
  EXPECT_TRUE(backend.server("tiny-llama").request().dropped());
  EXPECT_EQ(post("/v1/requests/req-7/cancel", "").status, 404u);
}

TEST_F(MetricsTest, CancelEndsAWaitingRequestAndTheLoadThatNobodyElseWants) {
  for (const auto* body : {kCompletion, kStream}) {
    auto chat = send("POST", body == kStream ? "/v1/chat/completions" : "/v1/completions", body);
    pass(body == kStream ? 1500ms : 0ms);
    EXPECT_THAT(backend.alive(), ElementsAre("tiny-llama"));
    EXPECT_EQ(post("/v1/requests/req-7/cancel", "").status, 200u);
    settle();
    const auto answer = got(*chat);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, body == kStream ? 200u : 499u);
    EXPECT_THAT(answer->text, HasSubstr("\"code\":\"cancelled\""));
    EXPECT_THAT(backend.alive(), IsEmpty());
  }
}

TEST_F(MetricsTest, CancelEndsAStreamWithOneErrorEvent) {
  have("tiny-llama");
  auto chat = send("POST", "/v1/chat/completions", kStream);
  backend.server("tiny-llama").request().send("data: 1\n\n");
  settle();
  EXPECT_EQ(post("/v1/requests/req-7/cancel", "").status, 200u);
  settle();
  const auto answer = got(*chat);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->text, testing::StartsWith("data: 1\n\ndata: {\"error\""));
  EXPECT_THAT(answer->text, HasSubstr("\"code\":\"cancelled\""));
  EXPECT_THAT(answer->text, Not(HasSubstr("[DONE]")));
  EXPECT_TRUE(backend.server("tiny-llama").request().dropped());
  backend.reply = engine;
  EXPECT_THAT(metrics(), HasSubstr("corral_requests_total{model=\"tiny-llama\",outcome=\"cancelled\"} 1\n"));
}

}  // namespace
}  // namespace corral::api
