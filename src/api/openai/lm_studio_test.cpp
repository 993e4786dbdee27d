// LM Studio's shapes under /api/v0: what its clients read, beside what those of Lemonade Server read there.
#include "api/openai/lm_studio.h"

#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

const json::Value* entry(const json::Value& list, std::string_view id) {
  for (const auto& model : json::find(list, "data")->get_array()) {
    if (json::text_or(model, "id", "") == id) return &model;
  }
  return nullptr;
}

std::vector<std::string> members(const json::Value& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.get_object()) names.emplace_back(name);
  return names;
}

TEST_F(ApiTest, LmStudiosListHasItsWordsBesideOurs) {
  have("tiny-llama");
  const auto theirs = get("/api/v0/models").json();
  const auto* llama = entry(theirs, "tiny-llama");
  ASSERT_NE(llama, nullptr);
  EXPECT_EQ(json::text_or(*llama, "object", ""), "model");
  EXPECT_EQ(json::text_or(*llama, "type", ""), "llm");
  EXPECT_EQ(json::text_or(*llama, "publisher", ""), "local");
  EXPECT_EQ(json::text_or(*llama, "arch", ""), "llama");
  EXPECT_EQ(json::text_or(*llama, "compatibility_type", ""), "gguf");
  EXPECT_EQ(json::text_or(*llama, "state", ""), "loaded");
  EXPECT_GT(json::number_or(*llama, "loaded_context_length", 0), 0);
  EXPECT_EQ(json::find(*llama, "capabilities")->at(0).as_string(), "tool_use");
  // Who can't talk is offered to nobody for a chat, and no program meets a word that it doesn't know.
  for (const auto* name : {"tiny-embed", "tiny-rerank"}) {
    const auto* other = entry(theirs, name);
    EXPECT_EQ(json::text_or(*other, "type", ""), "embeddings");
    EXPECT_EQ(json::text_or(*other, "state", ""), "not-loaded");
    EXPECT_EQ(json::find(*other, "loaded_context_length"), nullptr);
  }
  // Everything that the other prefixes say is there as well.
  const auto ours = get("/api/v1/models").json();
  const auto there = members(*llama);
  for (const auto& name : members(*entry(ours, "tiny-llama"))) EXPECT_THAT(there, testing::Contains(name));
  const auto one = get("/api/v0/models/tiny-llama").json();
  EXPECT_EQ(members(one), there);
  EXPECT_EQ(json::text_or(one, "state", ""), "loaded");
  EXPECT_EQ(json::text_or(get("/api/v1/models/tiny-embed").json(), "type", ""), "embedding");
}

TEST_F(ApiTest, LmStudiosAnswersHaveStats) {
  have("tiny-llama");
  const std::string body = R"({"model":"tiny-llama","messages":[{"role":"user","content":"Hi"}]})";
  const std::string full_body =
      R"({"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"length"}],)"
      R"("timings":{"prompt_n":3,"prompt_ms":250,"predicted_n":11,"predicted_ms":2000}})"
      "\n";
  const auto ask = [&](const char* path, const std::string& answer) {
    auto asking = send("POST", path, body);
    backend.server("tiny-llama").request().answer(200, answer);
    settle();
    return got(*asking)->text;
  };
  EXPECT_EQ(ask("/v1/chat/completions", full_body), full_body);
  const auto theirs = *json::parse(ask("/api/v0/chat/completions", full_body));
  const auto& stats = *json::find(theirs, "stats");
  EXPECT_EQ(json::number_or(stats, "tokens_per_second", 0), 5);
  EXPECT_EQ(json::number_or(stats, "time_to_first_token", 0), 0.25);
  EXPECT_EQ(json::number_or(stats, "generation_time", 0), 2);
  EXPECT_EQ(json::text_or(stats, "stop_reason", ""), "maxPredictedTokensReached");
  EXPECT_EQ(json::text_or(*json::find(theirs, "model_info"), "arch", ""), "llama");
  EXPECT_EQ(json::find(theirs, "choices")->get_array().size(), 1u);
  // What isn't such an answer stays as it is.
  for (const std::string odd : {"{}", "", "[]", "}", R"({"choices":[]})", R"({"choices":7})", "nonsense }"})
    EXPECT_EQ(ask("/api/v0/chat/completions", odd), odd);
}

TEST(LmStudio, WordsForReasons) {
  models::ModelInfo model;
  const auto word = [&](const std::string& choice) {
    auto response = lm_studio::with_stats(http::Response::json(200, R"({"choices":[)" + choice + "]}"), model);
    const auto parsed = json::parse(response.body.text());
    return parsed ? std::string(json::text_or(*json::find(*parsed, "stats"), "stop_reason", "")) : response.body.text();
  };
  EXPECT_EQ(word(R"({"finish_reason":"stop"})"), "eosFound");
  EXPECT_EQ(word(R"({"finish_reason":"stop","stopping_word":"x"})"), "stopStringFound");
  EXPECT_EQ(word(R"({"finish_reason":"tool_calls"})"), "toolCalls");
  EXPECT_EQ(lm_studio::type_word(ModelType::llm, true), "vlm");
}

}  // namespace
}  // namespace corral::api
