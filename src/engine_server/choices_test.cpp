// Several answers to one request, and what an answer lists of its tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine_server/test_support.h"

namespace corral::engine_server {
namespace {

using test::Fixture;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kHello =
    "Hello! I am a scripted model, and every word of this answer was known before you asked for it.";

std::string text_of(const json::Value& choice) {
  if (const auto* message = json::find(choice, "message")) return std::string(message->at("content").as_string());
  return std::string(choice.at("text").as_string());
}

TEST(Logprobs, AfterSamplingTheyAreProbabilities) {
  Fixture server("tiny-llama");
  const std::string wanted =
      R"({"prompt":"x","seed":3,"top_k":4,"temperature":2,"max_tokens":3,"post_sampling_probs":true)";
  for (const std::string more : {R"(,"n_probs":9)", R"(,"logprobs":9)"}) {
    const auto listed = server.post("/v1/completions", wanted + more + "}").choice().at("logprobs").at("content");
    ASSERT_EQ(listed.as_array().size(), 3u);
    for (const auto& token : listed.as_array()) {
      double sum = 0;
      bool chosen = false;
      for (const auto& top : token.at("top_probs").as_array()) {
        sum += top.at("prob").to_number<double>();
        chosen = chosen || (top.at("id") == token.at("id") && top.at("prob") == token.at("prob"));
      }
      EXPECT_LE(token.at("top_probs").as_array().size(), 4u);
      EXPECT_NEAR(sum, 1, 1e-4);
      EXPECT_TRUE(chosen);
    }
  }
  const std::string chat =
      R"(,"top_logprobs":3,"logprobs":true,"max_tokens":2,"post_sampling_probs":true,"stream":true)";
  for (const auto& choice : server.chat("hi", chat).streamed_choices()) {
    const auto* logprobs = json::find(choice, "logprobs");
    if (!logprobs) continue;
    for (const auto& token : logprobs->at("content").as_array()) EXPECT_EQ(token.at("prob").to_number<double>(), 1);
  }
}

TEST(Choices, SeveralAnswersCountUpTheSeed) {
  Fixture server("tiny-llama", 2048, engine::Toggle::off);  // flash attention rounds by how many run together
  const auto ask = [&](int seed, const std::string& more) {
    return server.post("/v1/chat/completions",
                       R"({"messages":[{"role":"user","content":"hi"}],"temperature":1,"max_tokens":3,"seed":)" +
                           std::to_string(seed) + more + "}");
  };
  std::vector<std::string> alone;
  for (const int seed : {5, 6, 7}) alone.push_back(text_of(ask(seed, "").choice()));
  const auto answer = ask(5, R"(,"n":3)");
  ASSERT_EQ(answer.status, 200u) << answer.body;
  const auto value = answer.json();
  std::vector<std::string> together;
  for (const auto& choice : value.at("choices").as_array()) {
    EXPECT_EQ(choice.at("index").as_int64(), std::ssize(together));
    together.push_back(text_of(choice));
  }
  EXPECT_EQ(together, alone);
  EXPECT_EQ(value.at("usage").at("completion_tokens").as_int64(), 9);
  EXPECT_EQ(value.at("usage").at("prompt_tokens"), ask(5, "").json().at("usage").at("prompt_tokens"));
  const auto& record = server.records.at(3);
  EXPECT_EQ(record.output_tokens, 9u);
  EXPECT_EQ(record.input_tokens, server.records.at(0).input_tokens);
  EXPECT_EQ(server.records.size(), 5u) << "one for each request, whatever its answers";
}

TEST(Choices, StreamSideBySide) {
  Fixture server("scripted-hello");
  const auto answer = server.chat("hi", R"(,"n":2,"stream":true,"stream_options":{"include_usage":true})");
  ASSERT_EQ(answer.status, 200u) << answer.body;
  const auto events = answer.events();
  EXPECT_EQ(std::ranges::count(events, "[DONE]"), 1);
  EXPECT_EQ(events.back(), "[DONE]");
  for (const int index : {0, 1}) {
    EXPECT_EQ(answer.streamed("content", index), kHello);
    const auto choices = answer.streamed_choices(index);
    EXPECT_EQ(choices.front().at("delta").at("role").as_string(), "assistant");
    EXPECT_EQ(choices.back().at("finish_reason").as_string(), "stop");
  }
  const auto usage = json::parse(events[events.size() - 2])->at("usage");
  const auto whole = server.chat("hi", R"(,"n":2)").json().at("usage");
  for (const auto* count : {"prompt_tokens", "completion_tokens"}) EXPECT_EQ(usage.at(count), whole.at(count)) << count;
  EXPECT_EQ(server.records.size(), 2u);
}

TEST(Choices, OnePromptThatIsTooLongStartsNothing) {
  Fixture server("tiny-llama", 256);
  std::string longer;
  for (int i = 0; i < 400; ++i) longer += "word ";
  const auto answer = server.post("/v1/completions", R"({"n":2,"prompt":["short",")" + longer + "\"]}");
  EXPECT_EQ(answer.status, 400u) << answer.body;
  EXPECT_EQ(server.service->stats().total().sessions, 0u);
}

TEST(Choices, PromptsAndAnswersStreamUnderTheirIndex) {
  Fixture server("tiny-llama");
  const auto body = [](const std::string& more) {
    return R"({"prompt":["Once upon","a time"],"temperature":0,"max_tokens":6,"n":2)" + more + "}";
  };
  const auto whole = server.post("/v1/completions", body("")).json();
  ASSERT_EQ(whole.at("choices").as_array().size(), 4u);
  EXPECT_EQ(text_of(whole.at("choices").at(0)), text_of(whole.at("choices").at(1)));
  const auto streamed = server.post("/v1/completions", body(R"(,"stream":true)"));
  for (const int index : {0, 1, 2, 3}) {
    EXPECT_EQ(streamed.streamed("", index), text_of(whole.at("choices").at(static_cast<std::size_t>(index))));
  }
}

TEST(Choices, EchoPutsThePromptInFront) {
  Fixture server("tiny-llama");
  const auto ask = [&](const std::string& prompt, const std::string& more) {
    return server.post("/v1/completions", R"({"temperature":0,"max_tokens":4,"prompt":)" + prompt + more + "}");
  };
  const auto plain = text_of(ask(R"("Größe of")", "").choice());
  const auto echoed = ask(R"("Größe of")", R"(,"echo":true)");
  EXPECT_EQ(text_of(echoed.choice()), "Größe of" + plain);
  EXPECT_EQ(ask(R"("Größe of")", R"(,"echo":true,"stream":true)").streamed(), "Größe of" + plain);
  const auto tokens = json::serialize(server.post("/tokenize", R"({"content":"Größe of"})").json().at("tokens"));
  EXPECT_THAT(text_of(ask(tokens, R"(,"echo":true)").choice()), testing::StartsWith("Größe of"));
  EXPECT_THAT(ask(R"("a")", R"(,"echo":true,"logprobs":1)").body, HasSubstr(R"("param":"echo")"));
}

TEST(Logprobs, CompletionsHaveTheLegacyShape) {
  Fixture server("tiny-llama");
  const auto ask = [&](const std::string& more) {
    return server.post("/v1/completions", R"({"prompt":"Once upon","temperature":0,"max_tokens":5)" + more + "}");
  };
  const auto answer = ask(R"(,"logprobs":2)");
  ASSERT_EQ(answer.status, 200u) << answer.body;
  const auto listed = answer.choice().at("logprobs");
  ASSERT_EQ(listed.at("tokens").as_array().size(), 5u);
  EXPECT_EQ(listed.at("token_logprobs").as_array().size(), 5u);
  EXPECT_EQ(listed.at("text_offset").at(0).as_int64(), 0);
  for (const auto& top : listed.at("top_logprobs").as_array()) {
    EXPECT_GE(top.as_object().size(), 1u);
    EXPECT_LE(top.as_object().size(), 3u);
  }
  EXPECT_TRUE(ask(R"(,"logprobs":0)").choice().at("logprobs").at("top_logprobs").is_null());
  EXPECT_TRUE(ask(R"(,"n_probs":2)").choice().at("logprobs").at("content").is_array());

  json::Array tokens, offsets;
  for (const auto& choice : ask(R"(,"logprobs":2,"stream":true)").streamed_choices()) {
    if (const auto* some = json::find(choice, "logprobs")) {
      for (const auto& token : some->at("tokens").as_array()) tokens.push_back(token);
      for (const auto& offset : some->at("text_offset").as_array()) offsets.push_back(offset);
    }
  }
  EXPECT_EQ(tokens, listed.at("tokens").as_array());
  EXPECT_EQ(offsets, listed.at("text_offset").as_array());
}

// Once the end was listed in a whole answer, and in a streamed one whatever came after the last text was lost.
TEST(Logprobs, TheSameTokensWholeAndStreamedWithoutTheEnd) {
  for (const auto* model : {"scripted-hello", "scripted-unicode"}) {
    Fixture server(model);
    const auto pieces = [](const json::Value& logprobs) {
      std::string text;
      for (const auto& token : logprobs.at("content").as_array()) {
        for (const auto& byte : token.at("bytes").as_array()) text.push_back(static_cast<char>(byte.as_int64()));
      }
      return text;
    };
    const auto whole = server.chat("hi", R"(,"logprobs":true)").choice();
    EXPECT_EQ(whole.at("finish_reason").as_string(), "stop");
    EXPECT_EQ(pieces(whole.at("logprobs")), text_of(whole));
    std::string streamed;
    for (const auto& choice : server.chat("hi", R"(,"logprobs":true,"stream":true)").streamed_choices()) {
      if (const auto* some = json::find(choice, "logprobs")) streamed += pieces(*some);
    }
    EXPECT_EQ(streamed, text_of(whole));
  }
}

TEST(Logprobs, WhatNoTextCameAfterIsInTheLastEvent) {
  // The answer is cut amid a character: its token has no text of its own before the end.
  Fixture server("scripted-unicode");
  const auto all = server.chat("hi", R"(,"logprobs":true)").choice().at("logprobs").at("content").as_array();
  for (std::size_t limit = 1; limit < std::min<std::size_t>(all.size(), 12); ++limit) {
    std::size_t listed = 0;
    const auto more = R"(,"logprobs":true,"stream":true,"max_tokens":)" + std::to_string(limit);
    for (const auto& choice : server.chat("hi", more).streamed_choices()) {
      if (const auto* some = json::find(choice, "logprobs")) listed += some->at("content").as_array().size();
    }
    EXPECT_EQ(listed, limit);
  }
}

TEST(Chat, OnlyAllowedToolsAreCalled) {
  Fixture server("scripted-tool-call");
  const std::string tools =
      R"(,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}},)"
      R"({"type":"function","function":{"name":"other","parameters":{"type":"object","properties":{}}}}],"max_tokens":60)";
  const auto called = [&](const std::string& name) {
    const auto answer = server.chat(
        "hi", tools + R"(,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[)" +
                  R"({"type":"function","function":{"name":")" + name + R"("}}]}})");
    EXPECT_EQ(answer.status, 200u) << answer.body;
    const auto message = answer.choice().at("message");
    const auto* calls = json::find(message, "tool_calls");
    return calls ? std::string(calls->at(0).at("function").at("name").as_string()) : answer.body;
  };
  EXPECT_EQ(called("get_weather"), "get_weather");
  EXPECT_EQ(called("other"), "other");
}

}  // namespace
}  // namespace corral::engine_server
