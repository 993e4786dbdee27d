// POST completion: answers in llama-server's own shape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine_server/test_support.h"

namespace corral::engine_server {
namespace {

using test::Fixture;
using testing::HasSubstr;

std::string text_of(const json::Value& value, std::string_view name) {
  return std::string(json::text_or(value, name, "(none)"));
}

TEST(NativeCompletion, SaysTheSameAsTheOtherShapeAndMore) {
  Fixture server("scripted-hello");
  const std::string body =
      R"({"model":"my/name","prompt":"Hi\n","temperature":0,"seed":7,"n_predict":6,"stop":["zzz"])";
  const auto other = server.post("/v1/completions", body + R"(,"return_tokens":true})");
  const auto answer = server.post("/completion", body + R"(,"return_tokens":true})");
  ASSERT_EQ(answer.status, 200u) << answer.body;
  const auto value = answer.json();
  EXPECT_EQ(value.at("content"), other.choice().at("text"));
  EXPECT_EQ(value.at("tokens"), other.choice().at("tokens"));
  EXPECT_EQ(text_of(value, "model"), "my/name");
  EXPECT_TRUE(value.at("stop").as_bool());
  EXPECT_EQ(text_of(value, "stop_type"), "limit");
  EXPECT_EQ(value.at("tokens_predicted").as_int64(), 6);
  EXPECT_EQ(value.at("tokens_evaluated"), other.json().at("usage").at("prompt_tokens"));
  EXPECT_THAT(text_of(value, "prompt"), HasSubstr("Hi\n"));
  EXPECT_FALSE(value.at("truncated").as_bool());
  const auto& settings = value.at("generation_settings");
  EXPECT_EQ(settings.at("seed").as_int64(), 7);
  EXPECT_EQ(settings.at("n_predict").as_int64(), 6);
  EXPECT_EQ(settings.at("temperature").to_number<double>(), 0);
  EXPECT_EQ(settings.at("top_k").as_int64(), 40) << "a default";
  EXPECT_EQ(json::serialize(settings.at("stop")), R"(["zzz"])");
  EXPECT_EQ(settings.at("samplers").at(0).as_string(), "penalties");
  EXPECT_EQ(settings.at("n_ctx").as_int64(), 2048);
  EXPECT_EQ(server.records.size(), 2u);
  const auto plain = server.post("/v1/completion", body + "}").json();
  EXPECT_TRUE(plain.at("tokens").as_array().empty());
  EXPECT_FALSE(json::find(plain, "completion_probabilities"));
}

TEST(NativeCompletion, EndsThatAreIgnoredAreBiases) {
  Fixture server("tiny-llama");
  const auto answer =
      server
          .post("/completion",
                R"({"prompt":"Hi","temperature":0,"n_predict":2,"ignore_eos":true,"logit_bias":[[7,1.5]]})")
          .json();
  const auto& biases = answer.at("generation_settings").at("logit_bias").as_array();
  ASSERT_GE(biases.size(), 2u);
  EXPECT_EQ(json::serialize(biases.front()), R"({"bias":1.5,"token":7})");
  EXPECT_TRUE(biases.back().at("bias").is_null()) << "as llama-server writes minus infinity";
  const auto plain = server.post("/completion", R"({"prompt":"Hi","n_predict":2})").json();
  EXPECT_TRUE(plain.at("generation_settings").at("logit_bias").as_array().empty());
}

// The first token of an answer comes with the prompt, so the rate is that of the others.
TEST(NativeCompletion, RatesLeaveTheFirstTokenOut) {
  Fixture server("tiny-llama");
  const auto timings = [&](const char* tokens) {
    return server.post("/completion", std::string(R"({"prompt":"Hi","ignore_eos":true,"n_predict":)") + tokens + "}")
        .json()
        .at("timings");
  };
  const auto three = timings("3");
  const auto ms = three.at("predicted_ms").to_number<double>();
  EXPECT_EQ(three.at("predicted_n").as_int64(), 3);
  EXPECT_NEAR(three.at("predicted_per_second").to_number<double>() * ms, 2000, 1e-6);
  EXPECT_NEAR(three.at("predicted_per_token_ms").to_number<double>() * 2, ms, 1e-9);
  EXPECT_EQ(timings("1").at("predicted_per_second").to_number<double>(), 0);
  ASSERT_EQ(server.records.size(), 2u);
  EXPECT_EQ(server.records[0].output_steps, 2u);
  EXPECT_EQ(server.records[1].output_steps, 0u);
}

TEST(NativeCompletion, TellsWhyItStopped) {
  Fixture server("scripted-hello");
  const auto ask = [&](const std::string& more) {
    return server.post("/completion", R"({"prompt":"Hi\n","temperature":0)" + more + "}").json();
  };
  const auto word = ask(R"(,"stop":["nothing","scripted"])");
  EXPECT_EQ(text_of(word, "stop_type"), "word");
  EXPECT_EQ(text_of(word, "stopping_word"), "scripted");
  EXPECT_EQ(text_of(word, "content"), "Hello! I am a ");
  const auto end = ask("");
  EXPECT_EQ(text_of(end, "stop_type"), "eos");
  EXPECT_EQ(text_of(end, "stopping_word"), "");
}

TEST(NativeCompletion, AFullContextIsToldAsTruncated) {
  Fixture server("scripted-endless", 256);
  const auto value = server.post("/completion", R"({"prompt":"Hi\n","temperature":0,"ignore_eos":true})").json();
  EXPECT_TRUE(value.at("truncated").as_bool());
  EXPECT_EQ(text_of(value, "stop_type"), "limit");
}

TEST(NativeCompletion, StreamsEndWithAllThatIsKnown) {
  Fixture server("tiny-llama");
  const std::string body =
      R"({"prompt":"Once upon","temperature":0,"max_tokens":9,"ignore_eos":true,"n_probs":2,"return_tokens":true,"cache_prompt":false)";
  const auto whole = server.post("/completion", body + "}").json();
  ASSERT_EQ(whole.at("completion_probabilities").as_array().size(), 9u);
  EXPECT_EQ(whole.at("completion_probabilities").at(0).at("top_logprobs").as_array().size(), 2u);
  const auto streamed =
      server.post("/completion", body + R"(,"stream":true,"timings_per_token":true,"return_progress":true})");
  EXPECT_EQ(streamed.type, "text/event-stream");
  std::string text;
  json::Array tokens;
  std::size_t probabilities = 0, progress = 0;
  std::int64_t predicted = 0;
  const auto events = streamed.events();
  ASSERT_GE(events.size(), 2u);
  for (const auto& event : events) {
    const auto value = *json::parse(event);
    text += value.at("content").as_string();
    for (const auto& token : value.at("tokens").as_array()) tokens.push_back(token);
    if (const auto* listed = json::find(value, "completion_probabilities")) probabilities += listed->as_array().size();
    EXPECT_EQ(value.at("stop").as_bool(), event == events.back());
    EXPECT_EQ(value.at("tokens_evaluated"), whole.at("tokens_evaluated"));
    EXPECT_GE(value.at("tokens_predicted").as_int64(), predicted);
    predicted = value.at("tokens_predicted").as_int64();
    if (json::find(value, "prompt_progress")) ++progress;
    EXPECT_TRUE(json::find(value, "timings")) << event;
  }
  EXPECT_EQ(text, text_of(whole, "content"));
  EXPECT_EQ(json::Value(tokens), whole.at("tokens"));
  EXPECT_EQ(probabilities, 9u);
  EXPECT_GE(progress, 1u);
  EXPECT_EQ(predicted, 9);
  EXPECT_TRUE(json::find(*json::parse(events.back()), "generation_settings"));
  const auto plain = server.post("/completion", body + R"(,"stream":true})").events();
  EXPECT_FALSE(json::find(*json::parse(plain.front()), "timings"));
}

TEST(NativeCompletion, GivesTheFieldsThatAreAskedFor) {
  Fixture server("scripted-hello");
  const std::string body =
      R"({"prompt":"Hi\n","temperature":0,"n_predict":4,"response_fields":["content","generation_settings/n_predict","nothing"])";
  const auto answer = server.post("/completion", body + "}");
  EXPECT_EQ(answer.body, R"({"content":"Hello! I am","generation_settings/n_predict":4})");
  const auto events = server.post("/completion", body + R"(,"stream":true})").events();
  EXPECT_EQ(events.back(), R"({"content":"","generation_settings/n_predict":4})");
  EXPECT_TRUE(json::find(*json::parse(events.front()), "tokens_predicted")) << "only the last event is cut down";
  EXPECT_EQ(server.post("/completion", R"({"prompt":"x","response_fields":"content"})").status, 400u);
}

TEST(NativeCompletion, SeveralAnswersAreAList) {
  Fixture server("tiny-llama");
  const std::string body =
      R"({"temperature":0,"n_predict":4,"ignore_eos":true,"cache_prompt":false,"prompt":["one","two"],"n":2)";
  const auto all = server.post("/completion", body + "}").json();
  ASSERT_EQ(all.as_array().size(), 4u);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(all.at(static_cast<std::size_t>(i)).at("index").as_int64(), i);
  EXPECT_NE(all.at(0).at("prompt"), all.at(2).at("prompt"));
  std::vector<std::string> streamed(4);
  std::size_t ends = 0;
  for (const auto& event : server.post("/completion", body + R"(,"stream":true})").events()) {
    const auto value = *json::parse(event);
    streamed.at(value.at("index").to_number<std::size_t>()) += value.at("content").as_string();
    if (value.at("stop").as_bool()) ++ends;
  }
  EXPECT_EQ(ends, 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(streamed[i], text_of(all.at(i), "content"));
}

// The settings once told the first answer's seed of all.
TEST(NativeCompletion, EachAnswerTellsItsOwnSeed) {
  Fixture server("tiny-llama");
  const auto seed_of = [](const json::Value& answer) { return answer.at("generation_settings").at("seed").as_int64(); };
  const std::string body = R"({"n_predict":2,"prompt":["one","two"],"n":2,"seed":7)";
  const auto all = server.post("/completion", body + "}").json();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(seed_of(all.at(i)), i % 2 == 0 ? 7 : 8) << i;
  std::size_t ends = 0;
  for (const auto& event : server.post("/completion", body + R"(,"stream":true})").events()) {
    const auto value = *json::parse(event);
    if (!value.at("stop").as_bool()) continue;
    ++ends;
    EXPECT_EQ(seed_of(value), value.at("index").as_int64() % 2 == 0 ? 7 : 8);
  }
  EXPECT_EQ(ends, 4u);
  const auto alone = server.post("/completion", R"({"n_predict":2,"prompt":"two"})").json();
  EXPECT_EQ(seed_of(alone), 4294967295);
  EXPECT_EQ(alone.at("generation_settings").at("n_ctx").as_int64(), 2048);
}

TEST(NativeCompletion, TakesMoreThanTheOther) {
  Fixture server("tiny-llama");
  const std::string body =
      R"({"prompt":"x","n_predict":2,"temperature":3,"repeat_penalty":12,"frequency_penalty":-5,"logit_bias":{"5":-1000}})";
  const auto answer = server.post("/completion", body);
  ASSERT_EQ(answer.status, 200u) << answer.body;
  EXPECT_EQ(answer.json().at("generation_settings").at("temperature").to_number<double>(), 3);
  EXPECT_EQ(server.post("/v1/completions", body).status, 400u);
}

TEST(NativeCompletion, RefusesWhatTheOtherRefuses) {
  Fixture server("tiny-llama", 256);
  const auto refused = [&](const std::string& body, const std::string& message) {
    const auto answer = server.post("/completion", body);
    EXPECT_EQ(answer.status, 400u) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(message));
  };
  refused("{}", "'prompt' is required");
  refused(R"({"prompt":[]})", "at least one prompt");
  refused(R"({"prompt":"x","lora":[{"id":0,"scale":1}]})", "GET lora-adapters");
  refused(R"({"prompt":"x","response_fields":[1]})", "response_fields");
  std::string longer;
  for (int i = 0; i < 400; ++i) longer += "word ";
  refused(R"({"prompt":")" + longer + R"("})", "context_length_exceeded");
  refused(R"({"prompt":")" + longer + R"("})", R"("n_ctx":256)");
}

}  // namespace
}  // namespace corral::engine_server
