// slots, stats and metrics.
#include <gmock/gmock.h>

#include "engine_server/test_support.h"

namespace corral::engine_server::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Numbers, SlotsAreTheSessionsThereAre) {
  Fixture server("scripted-endless");
  EXPECT_EQ(server.ask("GET", "/v1/slots").body, "[]");
  const auto session = *server.service->create_session();
  EXPECT_TRUE(server.service->append_input(session, std::vector<engine::Token>{40, 41, 42}));
  auto slots = server.ask("GET", "/slots").json();
  ASSERT_EQ(slots.as_array().size(), 1u);
  const auto& slot = slots.at(0);
  EXPECT_EQ(slot.at("id").as_int64(), 1);
  EXPECT_EQ(slot.at("worker").as_int64(), 0);
  EXPECT_EQ(slot.at("state").as_string(), "idle");
  EXPECT_FALSE(slot.at("is_processing").as_bool());
  EXPECT_EQ(slot.at("tokens").as_int64(), 3);
  EXPECT_EQ(slot.at("cached_tokens").as_int64(), 0);
  EXPECT_EQ(slot.at("n_ctx").as_int64(), 2048);
  EXPECT_TRUE(slot.at("unused_ms").is_int64());
  // One whose reader is away.
  const auto stream = *server.service->generate_stream(session, {.max_new_tokens = 1000});
  while (slots.at(0).at("state").as_string() != "paused") slots = server.ask("GET", "/slots").json();
  EXPECT_GT(slots.at(0).at("generated").as_int64(), 0);
}

TEST(Numbers, StatsNameEveryCounter) {
  Fixture server("scripted-hello");
  server.chat("hi");
  server.ask("GET", "/slots");  // one round later the counters are published
  const auto stats = server.ask("GET", "/stats").json();
  EXPECT_EQ(stats.at("generations").as_int64(), 1);
  EXPECT_GT(stats.at("predicted_tokens").as_int64(), 10);
  EXPECT_EQ(stats.at("parked_entries").as_int64(), 0);
  EXPECT_EQ(stats.as_object().size(), engine::stat_fields().size() + engine::parked_fields().size());
}

TEST(Numbers, MetricsInPrometheusForm) {
  Fixture server("scripted-hello");
  server.chat("hi");
  server.ask("GET", "/slots");
  const auto answer = server.ask("GET", "/metrics");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.type, "text/plain; version=0.0.4; charset=utf-8");
  const std::string labels = R"({model="scripted-hello",worker="0")";
  EXPECT_THAT(answer.body, HasSubstr("# TYPE corral_engine_generations_total counter\ncorral_engine_generations_total" +
                                     labels + "} 1\n"));
  EXPECT_THAT(answer.body,
              HasSubstr("# TYPE corral_engine_kv_cells gauge\ncorral_engine_kv_cells" + labels + "} 2048\n"));
  EXPECT_THAT(answer.body, HasSubstr("# TYPE corral_engine_time_to_first_token_seconds histogram\n"));
  EXPECT_THAT(answer.body,
              HasSubstr("corral_engine_time_to_first_token_seconds_bucket" + labels + R"(,le="+Inf"} 1)" + "\n"));
  EXPECT_THAT(answer.body, HasSubstr("corral_engine_time_to_first_token_seconds_count" + labels + "} 1\n"));
  EXPECT_THAT(answer.body, HasSubstr("corral_engine_model_bytes{model=\"scripted-hello\"} "));
  EXPECT_EQ(server.ask("GET", "/v1/metrics").status, 200u);
}

TEST(Numbers, MetricsTellWhatIsParked) {
  Fixture server("tiny-llama");
  server.chat("Tell me of a horse that goes home alone, through the night and the rain, and who waits for it there.");
  ASSERT_TRUE(server.service->downsize().done);
  const std::string body = server.ask("GET", "/metrics").body;
  const std::string label = R"({model="tiny-llama"})";
  EXPECT_THAT(body,
              HasSubstr("# TYPE corral_engine_parked_entries gauge\ncorral_engine_parked_entries" + label + " 1\n"));
  EXPECT_THAT(body, HasSubstr("\ncorral_engine_parked_memory_limit_bytes" + label + " 1073741824\n"));
  EXPECT_THAT(body, Not(HasSubstr("\ncorral_engine_parked_memory_bytes" + label + " 0\n")));
  EXPECT_THAT(body, HasSubstr("\ncorral_engine_parked_evictions_total" + label + " 0\n"));
}

TEST(Numbers, LlamaServersNamesCountWhatRequestsCameTo) {
  Fixture server("scripted-hello");
  const auto answer = server.chat("hi").json();
  const auto tokens = answer.at("usage").at("completion_tokens").as_int64();
  const std::string label = R"({model="scripted-hello"} )";
  const std::string first = server.ask("GET", "/metrics").body;
  EXPECT_THAT(first, HasSubstr("# TYPE llamacpp:tokens_predicted_total counter\nllamacpp:tokens_predicted_total" +
                               label + std::to_string(tokens) + "\n"));
  EXPECT_THAT(first, HasSubstr("# TYPE llamacpp:spec_decode_num_drafts_total counter\n"));
  EXPECT_THAT(first, Not(HasSubstr("\nllamacpp:predicted_tokens_seconds" + label + "0\n")));
  const std::string second = server.ask("GET", "/metrics").body;
  EXPECT_THAT(second, HasSubstr("\nllamacpp:predicted_tokens_seconds" + label + "0\n")) << "nothing ended since";
  EXPECT_THAT(second, HasSubstr("\nllamacpp:tokens_predicted_total" + label + std::to_string(tokens) + "\n"));
}

TEST(Numbers, AVerboseChatShowsWhatTheModelSaw) {
  Fixture server("scripted-hello");
  const auto answer = server.chat("hi there", R"(,"verbose":true)").json();
  EXPECT_THAT(std::string(answer.at("__verbose").at("prompt").as_string()), HasSubstr("hi there"));
  EXPECT_EQ(answer.at("__verbose").at("generation_settings").at("temperature").to_number<double>(), 0);
  const auto plain = server.chat("hi").json();
  EXPECT_EQ(json::find(plain, "__verbose"), nullptr);
}

TEST(Numbers, AnEmbeddingModelHasNumbersButNoSlots) {
  Fixture server("tiny-embed", 512);
  server.post("/v1/embeddings", R"({"input":["a","b"]})");
  EXPECT_EQ(server.ask("GET", "/slots").body, "[]");
  const std::string body = server.ask("GET", "/metrics").body;
  EXPECT_THAT(body, HasSubstr("corral_engine_step_sessions_count"));
  EXPECT_THAT(body, Not(HasSubstr("corral_engine_parked_entries")));
}

}  // namespace
}  // namespace corral::engine_server::test
