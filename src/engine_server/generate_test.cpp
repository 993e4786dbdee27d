#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine_server/test_support.h"

namespace corral::engine_server {
namespace {

using test::Fixture;
using testing::HasSubstr;

const std::string kHello =
    "Hello! I am a scripted model, and every word of this answer was known before you asked for it.";

// It was accepted, and nothing said that no chat is stored.
TEST(Chat, SaysThatItIsNotStored) {
  Fixture server("scripted-hello");
  EXPECT_FALSE(server.chat("hi").body.contains("\"store\""));
  EXPECT_FALSE(server.chat("hi", R"(,"store":false)").body.contains("\"store\""));
  EXPECT_EQ(server.chat("hi", R"(,"store":true)").json().at("store"), false);
  const auto events = server.chat("hi", R"(,"store":true,"stream":true)").events();
  ASSERT_GT(events.size(), 1u);
  for (std::size_t i = 0; i + 1 < events.size(); ++i) EXPECT_THAT(events[i], HasSubstr(R"("store":false)"));
}

TEST(Chat, AnswersWhole) {
  Fixture server("scripted-hello");
  const auto answer = server.chat("hi", R"(,"model":"my/name")");
  ASSERT_EQ(answer.status, 200u) << answer.body;
  EXPECT_EQ(answer.type, "application/json");
  const auto value = answer.json();
  EXPECT_EQ(value.at("object").as_string(), "chat.completion");
  EXPECT_EQ(value.at("model").as_string(), "my/name");
  EXPECT_EQ(value.at("choices").at(0).at("message").at("content").as_string(), kHello);
  EXPECT_EQ(value.at("choices").at(0).at("finish_reason").as_string(), "stop");
  EXPECT_GT(value.at("usage").at("prompt_tokens").as_int64(), 0);
  ASSERT_EQ(server.records.size(), 1u);
  EXPECT_EQ(static_cast<std::int64_t>(server.records[0].output_tokens),
            value.at("usage").at("completion_tokens").as_int64());
}

TEST(Chat, StreamsTheSameInEvents) {
  Fixture server("scripted-hello");
  const auto answer = server.chat("hi", R"(,"stream":true,"stream_options":{"include_usage":true})");
  ASSERT_EQ(answer.status, 200u) << answer.body;
  EXPECT_EQ(answer.type, "text/event-stream");
  EXPECT_EQ(answer.streamed(), kHello);
  const auto events = answer.events();
  ASSERT_GE(events.size(), 4u);
  EXPECT_EQ(events.back(), "[DONE]");
  const auto first = *json::parse(events.front());
  EXPECT_EQ(first.at("choices").at(0).at("delta").at("role").as_string(), "assistant");
  const auto usage = *json::parse(events[events.size() - 2]);
  EXPECT_TRUE(usage.at("choices").as_array().empty());
  EXPECT_GT(usage.at("usage").at("completion_tokens").as_int64(), 5);
  EXPECT_TRUE(usage.at("timings").at("predicted_ms").is_number());
  const auto finish = *json::parse(events[events.size() - 3]);
  EXPECT_EQ(finish.at("choices").at(0).at("finish_reason").as_string(), "stop");
  EXPECT_EQ(server.records.size(), 1u);
}

TEST(Chat, GuessesShowInTheTimings) {
  engine::SpeculativeOptions speculative;
  speculative.max_tokens = 8;
  speculative.measure = false;
  Fixture server("scripted-endless", 2048, engine::Toggle::automatic, speculative);
  const auto value = server.chat("go", R"(,"max_tokens":100)").json();
  EXPECT_GT(value.at("timings").at("draft_n").as_int64(), 0);
  EXPECT_GT(value.at("timings").at("draft_n_accepted").as_int64(), 0);
}

TEST(Chat, UnicodeIsWholeInEveryEvent) {
  Fixture server("scripted-unicode");
  const auto whole = server.chat("hi");
  const auto streamed = server.chat("hi", R"(,"stream":true)");
  const std::string text(whole.choice().at("message").at("content").as_string());
  EXPECT_EQ(streamed.streamed(), text);
  EXPECT_EQ(text.find("\uFFFD"), std::string::npos);
}

TEST(Chat, CallsToolsWholeAndStreamed) {
  Fixture server("scripted-tool-call");
  const std::string tools =
      R"(,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}])";
  const auto whole = server.chat("hi", tools);
  ASSERT_EQ(whole.status, 200u) << whole.body;
  EXPECT_EQ(whole.choice().at("finish_reason").as_string(), "tool_calls") << whole.body;
  const auto call = whole.choice().at("message").at("tool_calls").at(0);
  EXPECT_FALSE(call.at("id").as_string().empty());
  const std::string arguments(call.at("function").at("arguments").as_string());
  EXPECT_TRUE(json::parse(arguments));

  const auto streamed = server.chat("hi", tools + R"(,"stream":true)");
  std::string name, pieces, reason;
  for (const auto& event : streamed.events()) {
    const auto value = json::parse(event);
    if (!value) continue;
    const auto& choice = value->at("choices").at(0);
    reason = json::text_or(choice, "finish_reason", reason);
    const auto* calls = json::find(choice.at("delta"), "tool_calls");
    if (!calls) continue;
    const auto& function = calls->at(0).at("function");
    if (const auto given = json::text_or(function, "name", ""); !given.empty()) name = given;
    pieces += json::text_or(function, "arguments", "");
  }
  EXPECT_EQ(name, call.at("function").at("name").as_string());
  EXPECT_EQ(pieces, arguments);
  EXPECT_EQ(reason, "tool_calls");
}

// However early an answer is cut, by itself or in a call that is required: what there is is given, and streams end
// well.
TEST(Chat, ACutOffBeginningOfACallIsNoError) {
  Fixture server("scripted-tool-call");
  const std::string tools =
      R"(,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}])";
  for (int max = 0; max < 30; ++max) {
    for (const std::string choice : {"", R"(,"tool_choice":"required")"}) {
      const std::string limit = tools + choice + R"(,"max_tokens":)" + std::to_string(max);
      const auto whole = server.chat("hi", limit);
      ASSERT_EQ(whole.status, 200u) << max << whole.body;
      const auto streamed = server.chat("hi", limit + R"(,"stream":true)");
      EXPECT_EQ(streamed.events().back(), "[DONE]") << max << streamed.body;
    }
  }
}

// The model wants to greet; the answer begins with a call all the same. It was a greeting without an end.
TEST(Chat, ARequiredCallComesFirst) {
  Fixture server("scripted-hello");
  const std::string tools =
      R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{},"additionalProperties":false}}}])";
  const auto calls_of = [&](const std::string& more) {
    const auto answer = server.chat("hi", tools + R"(,"max_tokens":200,"tool_choice":)" + more);
    EXPECT_EQ(answer.status, 200u) << answer.body;
    EXPECT_TRUE(answer.choice().at("message").at("content").is_null()) << answer.body;
    EXPECT_EQ(answer.choice().at("message").at("tool_calls").at(0).at("function").at("name").as_string(), "f");
    const auto reason = std::string(answer.choice().at("finish_reason").as_string());
    return std::pair(answer.choice().at("message").at("tool_calls").as_array().size(), reason);
  };
  EXPECT_GT(calls_of(R"("required")").first, 1u);  // it is cut off, as this model never ends by itself
  const auto once = std::pair(std::size_t{1}, std::string("tool_calls"));
  EXPECT_EQ(calls_of(R"("required","parallel_tool_calls":false)"), once);
  EXPECT_EQ(calls_of(R"({"type":"function","function":{"name":"f"}})"), once);
}

TEST(Chat, ObeysLimitsStopsAndFormats) {
  Fixture server("scripted-hello");
  const auto limited = server.chat("hi", R"(,"max_tokens":3)");
  EXPECT_EQ(limited.choice().at("finish_reason").as_string(), "length");
  EXPECT_EQ(limited.json().at("usage").at("completion_tokens").as_int64(), 3);
  const auto stopped = server.chat("hi", R"(,"stop":["scripted"])");
  EXPECT_EQ(stopped.choice().at("message").at("content").as_string(), "Hello! I am a ");
  EXPECT_EQ(stopped.choice().at("finish_reason").as_string(), "stop");
  const auto grammar = server.chat("hi", R"(,"grammar":"root ::= \"yes\"")");
  EXPECT_EQ(grammar.choice().at("message").at("content").as_string(), "yes");
}

TEST(Chat, ListsProbabilities) {
  Fixture server("scripted-hello");
  const auto answer = server.chat("hi", R"(,"logprobs":true,"top_logprobs":2,"max_tokens":4)");
  const auto logprobs = answer.choice().at("logprobs").at("content").as_array();
  ASSERT_EQ(logprobs.size(), 4u);
  EXPECT_EQ(logprobs[0].at("top_logprobs").as_array().size(), 2u);
  EXPECT_LE(logprobs[0].at("logprob").to_number<double>(), 0.0);
  const auto streamed = server.chat("hi", R"(,"logprobs":true,"max_tokens":4,"stream":true)");
  std::size_t tokens = 0;
  for (const auto& event : streamed.events()) {
    const auto value = json::parse(event);
    if (!value) continue;
    if (const auto* listed = json::find(value->at("choices").at(0), "logprobs")) {
      tokens += listed->at("content").as_array().size();
    }
  }
  EXPECT_EQ(tokens, 4u);
}

TEST(Chat, RefusesWhatCantBeAnswered) {
  Fixture server("tiny-llama", 256);
  const auto expect = [&](const test::Answer& answer, unsigned status, const std::string& code) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.json().at("error").at("code").as_string(), code) << answer.body;
  };
  std::string longer;
  for (int i = 0; i < 400; ++i) longer += "word ";
  const auto full = server.chat(longer);
  expect(full, 400, "context_length_exceeded");
  EXPECT_THAT(full.body, HasSubstr("256"));
  expect(server.chat(longer, R"(,"stream":true)"), 400, "context_length_exceeded");
  expect(server.chat("hi", R"(,"temperature":"hot")"), 400, "invalid_type");
  expect(server.post("/v1/chat/completions", "{"), 400, "invalid_json");
  expect(server.post("/v1/chat/completions", ""), 400, "invalid_json");
  expect(server.chat("hi", R"(,"grammar":"root ::= (")"), 400, "invalid_argument");
  expect(server.post("/v1/embeddings", R"({"input":"a"})"), 400, "wrong_model_type");
  expect(server.post("/v1/rerank", R"({"query":"a","documents":["b"]})"), 400, "wrong_model_type");
  expect(server.post("/v1/completions", R"({"prompt":[999999]})"), 400, "invalid_value");
  expect(server.ask("GET", "/v1/nothing"), 404, "unknown_path");
  expect(server.ask("GET", "/v1/chat/completions"), 405, "method_not_allowed");
  expect(server.post("/v1/chat/completions", R"({"messages":[{"role":"user","content":[{"type":"image_url",)"
                                             R"("image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]})"),
         400, "media_not_supported");
}

TEST(Chat, BigBodiesTakeTheOtherWayToTheSameAnswer) {
  Fixture server("scripted-hello");
  const auto answer = server.chat("hi", ",\"ignored\":\"" + std::string(100'000, 'x') + "\"");
  EXPECT_EQ(answer.choice().at("message").at("content").as_string(), kHello);
}

TEST(Chat, GoesOnWithABegunAnswer) {
  Fixture server("tiny-llama");
  const auto ask = [&](const std::string& more) {
    return server.post(
        "/v1/chat/completions",
        R"({"temperature":0,"max_tokens":6,"ignore_eos":true,"cache_prompt":false,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"Once upon"}])" +
            more + "}");
  };
  const std::string whole(ask("").choice().at("message").at("content").as_string());
  ASSERT_TRUE(whole.starts_with("Once upon")) << whole;
  const std::string stream = R"(,"stream":true)";
  const std::string option = R"(,"continue_final_message":true)";
  EXPECT_EQ(ask(stream).streamed(), whole);
  EXPECT_EQ(ask(stream + R"(,"continue_final_message":false)").streamed(), whole);
  EXPECT_EQ("Once upon" + ask(stream + option).streamed(), whole) << "only what is new";
  EXPECT_EQ("Once upon" + ask(stream + R"(,"continue_final_message":"content")").streamed(), whole);
  EXPECT_EQ(ask(stream + option + R"(,"echo":true)").streamed(), whole);
  EXPECT_EQ(ask(option).choice().at("message").at("content").as_string(), whole);
}

TEST(Chat, SaysWhichStopStringEndedIt) {
  Fixture server("scripted-hello");
  const auto whole = server.chat("hi", R"(,"stop":["nothing","scripted"])").choice();
  EXPECT_EQ(json::text_or(whole, "stopping_word", ""), "scripted");
  const auto streamed = server.chat("hi", R"(,"stream":true,"stop":["scripted"])").streamed_choices().back();
  EXPECT_EQ(json::text_or(streamed, "finish_reason", ""), "stop");
  EXPECT_EQ(json::text_or(streamed, "stopping_word", ""), "scripted");
  EXPECT_EQ(json::find(server.chat("hi", R"(,"stop":["nothing"])").choice(), "stopping_word"), nullptr);
}

TEST(Chat, CountsThePromptInItsFirstEventIfAsked) {
  Fixture server("scripted-hello");
  const auto events = [&](const std::string& more) {
    return server.chat("hi", R"(,"stream":true,"stream_options":{"include_usage":true)" + more + "}").events();
  };
  const auto asked = events(R"(,"prompt_usage":true)");
  const auto first = json::parse(asked.front());
  ASSERT_TRUE(first);
  EXPECT_EQ(first->at("choices").at(0).at("delta").at("role").as_string(), "assistant");
  const auto last = json::parse(asked[asked.size() - 2]);
  EXPECT_EQ(first->at("usage").at("prompt_tokens"), last->at("usage").at("prompt_tokens"));
  EXPECT_EQ(first->at("usage").at("completion_tokens"), 0);
  const auto plain = events("");
  EXPECT_EQ(json::find(*json::parse(plain.front()), "usage"), nullptr);
  for (const auto& event : asked) EXPECT_FALSE(event.contains("prompt_progress"));
}

TEST(Chat, TokensOfAPromptAreCountedWithoutAnAnswer) {
  Fixture server("tiny-llama", 256);
  const auto count = [&](const std::string& more) {
    const auto answer = server.post("/v1/chat/completions/input_tokens",
                                    R"({"messages":[{"role":"user","content":"hi)" + more + R"("}]})");
    EXPECT_EQ(answer.status, 200u) << answer.body;
    return answer.json().at("input_tokens").to_number<std::int64_t>();
  };
  const auto asked = server.chat("hi", R"(,"max_tokens":1)").json();
  EXPECT_EQ(count(""), asked.at("usage").at("prompt_tokens").to_number<std::int64_t>());
  std::string words;
  for (int i = 0; i < 1000; ++i) words += " word";
  EXPECT_GT(count(words), 1000) << "also of one that doesn't fit";
  std::string many;
  while (many.size() < 300'000) many += words;
  const auto pieces = static_cast<double>(count(many));
  EXPECT_NEAR(pieces / static_cast<double>(many.size() / words.size()), static_cast<double>(count(words) - count("")),
              20)
      << "and of one that is counted in pieces";
  const auto huge = server.post("/v1/chat/completions/input_tokens",
                                R"({"messages":[{"role":"user","content":")" + std::string(9 << 20, 'x') + R"("}]})");
  EXPECT_EQ(huge.status, 400u);
  EXPECT_TRUE(huge.body.contains("are allowed")) << huge.body.substr(0, 200);
}

TEST(Completion, TakesEveryShapeOfPrompt) {
  Fixture server("tiny-llama");
  const auto text = [&](const std::string& prompt, std::size_t index = 0) {
    const auto answer = server.post("/v1/completions", R"({"max_tokens":8,"temperature":0,"prompt":)" + prompt + "}");
    EXPECT_EQ(answer.status, 200u) << answer.body;
    return std::string(answer.json().at("choices").at(index).at("text").as_string());
  };
  const auto tokens = server.post("/tokenize", R"({"content":"Once upon","add_special":true})").json().at("tokens");
  const auto listed = json::serialize(tokens);
  const auto expected = text(R"("Once upon")");
  EXPECT_EQ(text(listed), expected);
  EXPECT_EQ(text("[" + listed + "]"), expected);
  EXPECT_EQ(text(R"(["other","Once upon"])", 1), expected);
  const auto streamed =
      server.post("/v1/completions", R"({"max_tokens":8,"temperature":0,"stream":true,"prompt":"Once upon"})");
  EXPECT_EQ(streamed.streamed(), expected);
  EXPECT_EQ(streamed.events().back(), "[DONE]");
}

TEST(Completion, NoTokensButThePromptForTheNextRequest) {
  Fixture server("tiny-llama");
  const auto ask = [&](int tokens) {
    return server
        .post("/v1/completions",
              fmt::format(R"({{"prompt":"Once upon a time there was a small boat","max_tokens":{}}})", tokens))
        .json();
  };
  const auto warmed = ask(0);
  EXPECT_EQ(warmed.at("choices").at(0).at("text").as_string(), "");
  EXPECT_EQ(warmed.at("choices").at(0).at("finish_reason").as_string(), "length");
  const auto usage = warmed.at("usage");
  EXPECT_EQ(usage.at("completion_tokens").to_number<int>(), 0);
  const int prompt = usage.at("prompt_tokens").to_number<int>();
  EXPECT_EQ(ask(1).at("usage").at("prompt_tokens_details").at("cached_tokens").to_number<int>(), prompt - 1);
}

TEST(Completion, AGrammarMayWaitForItsTrigger) {
  Fixture server("scripted-hello");
  const std::string begin =
      R"({"prompt":"Hi\n","temperature":0,"max_tokens":60,"grammar":"root ::= \"scripted\" \"!!\"")";
  const std::string triggers = R"(,"grammar_triggers":[{"type":1,"value":"scripted"}])";
  const auto text = [&](const std::string& more) {
    const auto answer = server.post("/v1/completions", begin + more + "}");
    EXPECT_EQ(answer.status, 200u) << answer.body;
    return std::string(answer.choice().at("text").as_string());
  };
  EXPECT_EQ(text(""), "scripted!!");
  EXPECT_EQ(text(triggers), "scripted!!") << "without grammar_lazy they mean nothing";
  EXPECT_THAT(text(R"(,"grammar_lazy":true)" + triggers), testing::EndsWith("scripted!!"));
  EXPECT_THAT(text(R"(,"grammar_lazy":true)" + triggers), testing::StartsWith("Hello! I am a "));
  const auto none = server.post("/v1/completions", begin + R"(,"grammar_lazy":true})");
  EXPECT_EQ(none.status, 400u);
  EXPECT_THAT(none.body, HasSubstr("grammar_triggers"));
  const auto unknown =
      server.post("/v1/completions",
                  begin + R"(,"grammar_lazy":true,"grammar_triggers":[{"type":0,"value":"","token":99999999}]})");
  EXPECT_EQ(unknown.status, 400u);
  EXPECT_THAT(unknown.body, HasSubstr("99999999"));
}

TEST(Completion, EventsMayHaveTimingsAndTokens) {
  Fixture server("tiny-llama");
  const std::string body = R"({"prompt":"x","temperature":0,"max_tokens":9,"ignore_eos":true,"return_tokens":true)";
  const auto whole = server.post("/v1/completions", body + "}").choice().at("tokens");
  ASSERT_EQ(whole.as_array().size(), 9u);
  const auto streamed = server.post("/v1/completions", body + R"(,"stream":true,"timings_per_token":true})");
  json::Array tokens;
  for (const auto& event : streamed.events()) {
    const auto value = json::parse(event);
    if (!value) continue;
    const auto* listed = json::find(value->at("choices").at(0), "tokens");
    if (listed == nullptr) continue;
    EXPECT_TRUE(json::find(*value, "timings")) << event;
    for (const auto& token : listed->as_array()) tokens.push_back(token);
  }
  EXPECT_EQ(json::serialize(json::Value(tokens)), json::serialize(whole));
}

// The prompt_progress of each event that has one.
std::vector<json::Value> progress_in(const test::Answer& answer) {
  std::vector<json::Value> all;
  for (const auto& event : answer.events()) {
    const auto value = json::parse(event);
    if (!value) continue;
    if (const auto* progress = json::find(*value, "prompt_progress")) all.push_back(*progress);
  }
  return all;
}

TEST(Chat, StreamsSayHowFarThePromptIs) {
  Fixture server("tiny-llama");
  std::string longer;
  for (int i = 0; i < 300; ++i) longer += "word ";
  const std::string more = R"(,"max_tokens":5,"ignore_eos":true,"stream":true)";
  const auto plain = server.chat(longer, more + R"(,"cache_prompt":false)");
  EXPECT_TRUE(progress_in(plain).empty());
  const auto first = server.chat(longer, more + R"(,"return_progress":true)");
  const auto progress = progress_in(first);
  ASSERT_FALSE(progress.empty()) << first.body;
  const auto& last = progress.back();
  EXPECT_EQ(last.at("processed"), last.at("total"));
  EXPECT_EQ(progress.front().at("processed").as_int64(), 0);
  EXPECT_GT(last.at("total").as_int64(), 300);
  EXPECT_EQ(last.at("cache").as_int64(), 0);
  EXPECT_GE(last.at("time_ms").as_int64(), 0);
  EXPECT_EQ(first.streamed(), plain.streamed());
  // One message, whatever its first event is for; and what was there already is said.
  const auto again = server.chat(longer, more + R"(,"return_progress":true,"n":2)");
  std::size_t roles = 0;
  for (const auto& choice : again.streamed_choices()) {
    EXPECT_TRUE(choice.at("delta").is_object());
    if (json::find(choice.at("delta"), "role")) ++roles;
  }
  EXPECT_EQ(roles, 1u);
  ASSERT_FALSE(progress_in(again).empty());
  // However quickly the rest is computed, the first event is the one of what was there already.
  EXPECT_EQ(progress_in(again).front().at("processed"), progress_in(again).front().at("cache"));
  EXPECT_GT(progress_in(again).back().at("cache").as_int64(), 300);
  const auto whole = server.chat(longer, R"(,"max_tokens":1,"return_progress":true)");
  EXPECT_EQ(whole.status, 200u);
  EXPECT_THAT(whole.body, testing::Not(HasSubstr("prompt_progress")));
}

TEST(Completion, StreamsSayHowFarEachPromptIs) {
  Fixture server("tiny-llama");
  const auto answer = server.post(
      "/v1/completions",
      R"({"prompt":["one two three","four"],"max_tokens":3,"ignore_eos":true,"stream":true,"return_progress":true})");
  std::vector<std::int64_t> indexes;
  for (const auto& event : answer.events()) {
    const auto value = json::parse(event);
    if (!value || !json::find(*value, "prompt_progress")) continue;
    EXPECT_EQ(value->at("choices").at(0).at("text").as_string(), "");
    if (value->at("prompt_progress").at("processed") != value->at("prompt_progress").at("total")) continue;
    indexes.push_back(value->at("choices").at(0).at("index").as_int64());
  }
  EXPECT_THAT(indexes, testing::UnorderedElementsAre(0, 1)) << answer.body;
}

// Such a grammar once met an end where it wanted more, and libllama ended the process.
TEST(Chat, BegunAnswerThatHasEndedIsRefusedUnderAGrammar) {
  Fixture server("tiny-llama");
  const auto answer = server.post(
      "/v1/chat/completions",
      R"({"max_tokens":4,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"<|im_end|>"}],"response_format":{"type":"json_object"}})");
  EXPECT_EQ(answer.status, 400u) << answer.body;
}

TEST(Completion, FollowsASchema) {
  Fixture server("tiny-llama");
  const auto answer = server.post(
      "/v1/completions",
      R"({"prompt":"x","temperature":0,"max_tokens":60,"json_schema":{"type":"object","properties":{"a":{"type":"boolean"}},"required":["a"],"additionalProperties":false}})");
  ASSERT_EQ(answer.status, 200u) << answer.body;
  const auto value = json::parse(std::string(answer.choice().at("text").as_string()));
  ASSERT_TRUE(value) << answer.body;
  EXPECT_TRUE(value->at("a").is_bool());
}

}  // namespace
}  // namespace corral::engine_server
