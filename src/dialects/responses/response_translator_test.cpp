// Canonical answers as responses: whole ones, and events in the order of OpenAI's documentation.
#include "dialects/responses/response_translator.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialects/dialect_fixture_for_tests.h"
#include "dialects/responses/output.h"
#include "dialects/responses/read.h"
#include "http/sse.h"
#include "json/value.h"
#include "protocol/answers/piece.h"
#include "protocol/errors.h"

namespace corral::dialects::responses {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Canonical request(const std::string& more = {}) {
  auto asked = read_response(R"({"model":"m","input":"x","stream":true)" + more + "}");
  EXPECT_TRUE(asked);
  return std::move(*asked);
}

struct Event {
  std::string name;
  std::string data;
};

std::vector<Event> events_of(const std::string& stream) {
  std::vector<Event> events;
  http::SseParser parser(
      [&](std::string_view name, std::string_view data) { events.push_back({std::string(name), std::string(data)}); });
  parser.feed(stream);
  return events;
}

// What a stream of these choices, each the members of a delta, comes to.
std::vector<Event> translated(const std::vector<std::string>& deltas, std::string_view finish,
                              const std::string& more = {}) {
  const auto asked = request(more);
  const auto translator = make_response_translator(asked);
  std::string out;
  const auto piece = [&](const std::string& text) {
    const auto read = protocol::read_answer(text);
    ASSERT_TRUE(read) << text;
    translator->piece(out, *read);
  };
  const std::string head = R"({"id":"chatcmpl-7","model":"other","created":5,)";
  for (const auto& delta : deltas)
    piece(head + fmt::format(R"("choices":[{{"index":0,"delta":{{{}}},"finish_reason":null}}]}})", delta));
  piece(head + fmt::format(R"("choices":[{{"index":0,"delta":{{}},"finish_reason":"{}"}}]}})", finish));
  piece(
      head +
      R"("choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3}}})");
  translator->end(out);
  return events_of(out);
}

std::vector<std::string> names(const std::vector<Event>& events) {
  std::vector<std::string> all;
  std::int64_t number = 0;
  for (const auto& event : events) {
    const auto data = json::parse(event.data);
    EXPECT_TRUE(data) << event.data;
    if (!data) continue;
    EXPECT_EQ(json::text_or(*data, "type", ""), event.name);
    EXPECT_EQ(json::number_or(*data, "sequence_number", -1), static_cast<double>(number++)) << event.data;
    all.push_back(event.name.substr(std::string_view("response.").size()));
  }
  return all;
}

TEST(ResponseTranslatorTest, ATextComesInTheDocumentedOrder) {
  const auto events =
      translated({R"("role":"assistant","content":"")", R"("content":"Hel")", R"("content":"lo")"}, "stop");
  EXPECT_THAT(names(events), ElementsAre("created", "in_progress", "output_item.added", "content_part.added",
                                         "output_text.delta", "output_text.delta", "output_text.done",
                                         "content_part.done", "output_item.done", "completed"));
  EXPECT_EQ(events[4].data,
            R"({"type":"response.output_text.delta","item_id":"msg_7_0","output_index":0,"content_index":0,)"
            R"("delta":"Hel","logprobs":[],"sequence_number":4})");
  EXPECT_THAT(events[6].data, HasSubstr(R"("text":"Hello")"));
  EXPECT_THAT(events[0].data, HasSubstr(R"("id":"resp_7","object":"response","created_at":5,"status":"in_progress")"));
  EXPECT_THAT(events[0].data, HasSubstr(R"("model":"m","output":[])"));
  EXPECT_THAT(events[0].data, HasSubstr(R"("usage":null)"));
  EXPECT_THAT(events.back().data,
              HasSubstr(R"("output":[{"id":"msg_7_0","type":"message","status":"completed","role":"assistant",)"
                        R"("content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hello"}]}])"));
  EXPECT_THAT(
      events.back().data,
      HasSubstr(R"("usage":{"input_tokens":4,"input_tokens_details":{"cache_write_tokens":0,"cached_tokens":3},)"
                R"("output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":6})"));
}

TEST(ResponseTranslatorTest, LogProbabilitiesStandBesideTheirText) {
  const auto asked = request();
  const auto translator = make_response_translator(asked);
  const auto piece_of = [](std::string_view text, std::string_view token) {
    return protocol::read_answer(fmt::format(
        R"({{"choices":[{{"index":0,"delta":{{"content":"{}"}},"logprobs":{{"content":[{{"token":"{}","logprob":-0.5}}]}}}}]}})",
        text, token));
  };
  std::string out;
  for (const auto* text : {"a", "b"}) translator->piece(out, *piece_of(text, text));
  translator->end(out);
  const auto events = events_of(out);
  EXPECT_THAT(events[4].data,
              HasSubstr(R"("delta":"a","logprobs":[{"token":"a","logprob":-0.5}],"sequence_number":4)"));
  const std::string_view both = R"("logprobs":[{"token":"a","logprob":-0.5},{"token":"b","logprob":-0.5}])";
  for (const std::size_t at : {6, 7, 8, 9}) EXPECT_THAT(events[at].data, HasSubstr(std::string(both))) << at;
  auto whole = piece_of("ab", "ab");
  EXPECT_THAT(make_response_translator(asked)->whole(*whole),
              HasSubstr(R"("logprobs":[{"token":"ab","logprob":-0.5}],"text":"ab")"));
}

TEST(ResponseTranslatorTest, OneInTheBackgroundWaitsFirst) {
  auto asked = read_response_on(R"({"model":"m","input":"x","stream":true,"background":true})", {});
  ASSERT_TRUE(asked);
  const auto translator = make_response_translator(*asked);
  std::string out;
  translator->ping(out);
  translator->ping(out);
  EXPECT_THAT(names(events_of(out)), ElementsAre("created", "queued"));
  translator->piece(out, *protocol::read_answer(R"({"choices":[{"index":0,"delta":{"content":"a"}}]})"));
  translator->end(out);
  EXPECT_THAT(names(events_of(out)), ElementsAre("created", "queued", "in_progress", "output_item.added",
                                                 "content_part.added", "output_text.delta", "output_text.done",
                                                 "content_part.done", "output_item.done", "completed"));
  EXPECT_THAT(out, HasSubstr(R"("status":"queued","background":true)"));
}

TEST(ResponseTranslatorTest, ThoughtsAndCallsAreItemsOfTheirOwn) {
  const auto events = translated(
      {R"("reasoning_content":"Hm.")", R"("content":"I look.")",
       R"("tool_calls":[{"index":0,"id":"c0","function":{"name":"get","arguments":"{\"x\""}}])",
       R"("tool_calls":[{"index":0,"function":{"arguments":":1}"}}])",
       R"("tool_calls":[{"index":1,"id":"c1","function":{"name":"mcp__find","arguments":"{}"}}])",
       R"("tool_calls":[{"index":2,"id":"c2","function":{"name":"patch","arguments":"{\"input\":\"a\\nb\"}"}}])"},
      "tool_calls",
      R"(,"tools":[{"type":"custom","name":"patch"},{"type":"function","name":"get"},
         {"type":"namespace","name":"mcp","tools":[{"type":"function","name":"find"}]}])");
  EXPECT_THAT(names(events),
              ElementsAre("created", "in_progress",  //
                          "output_item.added", "content_part.added", "reasoning_text.delta", "reasoning_text.done",
                          "content_part.done", "output_item.done",  //
                          "output_item.added", "content_part.added", "output_text.delta", "output_text.done",
                          "content_part.done", "output_item.done",  //
                          "output_item.added", "function_call_arguments.delta", "function_call_arguments.delta",
                          "function_call_arguments.done", "output_item.done",  //
                          "output_item.added", "function_call_arguments.delta", "function_call_arguments.done",
                          "output_item.done",  //
                          "output_item.added", "custom_tool_call_input.delta", "custom_tool_call_input.done",
                          "output_item.done", "completed"));
  EXPECT_THAT(events[17].data, HasSubstr(R"("name":"get","arguments":"{\"x\":1}")"));
  EXPECT_THAT(events[22].data, HasSubstr(R"("call_id":"c1","name":"find","namespace":"mcp","arguments":"{}")"));
  EXPECT_THAT(events[26].data, HasSubstr(R"("type":"custom_tool_call","status":"completed","call_id":"c2",)"
                                         R"("name":"patch","input":"a\nb")"));
}

TEST(ResponseTranslatorTest, ARequestedSummaryHasTheThoughtsOnce) {
  for (const auto* name : {"auto", "concise", "detailed"}) {
    const auto more = fmt::format(R"(,"reasoning":{{"summary":"{}"}})", name);
    const auto events = translated(
        {R"("reasoning_content":"Let ")", R"("reasoning_content":"me.")", R"("content":"Yes.")"}, "stop", more);
    EXPECT_THAT(names(events),
                ElementsAre("created", "in_progress", "output_item.added", "reasoning_summary_part.added",
                            "reasoning_summary_text.delta", "reasoning_summary_text.delta",
                            "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",  //
                            "output_item.added", "content_part.added", "output_text.delta", "output_text.done",
                            "content_part.done", "output_item.done", "completed"));
    EXPECT_THAT(events[2].data, HasSubstr(R"("type":"reasoning","summary":[],"content":[],"status":"in_progress")"));
    EXPECT_THAT(events[3].data, HasSubstr(R"("summary_index":0,"part":{"type":"summary_text","text":""})"));
    EXPECT_THAT(events[4].data, HasSubstr(R"("item_id":"rs_7_0","output_index":0,"summary_index":0,"delta":"Let ")"));
    EXPECT_THAT(events[6].data, HasSubstr(R"("summary_index":0,"text":"Let me.")"));
    EXPECT_THAT(events[7].data, HasSubstr(R"("part":{"type":"summary_text","text":"Let me."})"));
    EXPECT_THAT(events[8].data, HasSubstr(R"("summary":[{"type":"summary_text","text":"Let me."}],"content":[])"));
  }
  const auto answer = protocol::read_answer(
      R"({"choices":[{"index":0,"message":{"content":"Yes.","reasoning_content":"Hm."},"finish_reason":"stop"}]})");
  ASSERT_TRUE(answer);
  const auto whole = [&](const std::string& more) { return make_response_translator(request(more))->whole(*answer); };
  EXPECT_THAT(whole(R"(,"reasoning":{"generate_summary":"auto"})"),
              HasSubstr(R"("summary":[{"type":"summary_text","text":"Hm."}],"content":[])"));
  EXPECT_THAT(whole(R"(,"reasoning":{"summary":null})"),
              HasSubstr(R"("summary":[],"content":[{"type":"reasoning_text","text":"Hm."}])"));
}

TEST(ResponseTranslatorTest, OnlyACompletedAnswerHasATimeOfItsEnd) {
  auto asked = request();
  asked.id = "req-1a";
  asked.received = WallTime(std::chrono::milliseconds(1'700'000'000'900));
  const auto ended = [&](std::string_view finish) {
    const auto translator = make_response_translator(asked);
    std::string out;
    translator->piece(out, *protocol::read_answer(fmt::format(
                               R"({{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{}"}}]}})", finish)));
    translator->took(std::chrono::milliseconds(2'200));
    translator->end(out);
    return events_of(out);
  };
  const auto events = ended("stop");
  EXPECT_THAT(events.front().data, HasSubstr(R"("status":"in_progress","background":false,"completed_at":null,)"));
  EXPECT_THAT(events.back().data, HasSubstr(R"("created_at":1700000000,"status":"completed","background":false,)"
                                            R"("completed_at":1700000003,)"));
  EXPECT_THAT(ended("length").back().data, HasSubstr(R"("completed_at":null)"));
  EXPECT_THAT(response_document(asked, "queued"), HasSubstr(R"("completed_at":null)"));
}

TEST(ResponseTranslatorTest, ACutAnswerSaysWhy) {
  const auto events = translated({R"("content":"Hel")"}, "length");
  EXPECT_EQ(events.back().name, "response.incomplete");
  EXPECT_THAT(events.back().data, HasSubstr(R"("status":"incomplete")"));
  EXPECT_THAT(events.back().data, HasSubstr(R"("incomplete_details":{"reason":"max_output_tokens"})"));
  const auto cut = R"("type":"message","status":"incomplete")";
  EXPECT_THAT(events.back().data, HasSubstr(cut));
  EXPECT_EQ(events[events.size() - 2].name, "response.output_item.done");
  EXPECT_THAT(events[events.size() - 2].data, HasSubstr(cut));
}

TEST(ResponseTranslatorTest, TheItemThatAnAnswerEndedInIsIncomplete) {
  const auto answer = protocol::read_answer(
      R"({"id":"chatcmpl-7","choices":[{"index":0,"message":{"content":"Hi","tool_calls":[{"id":"c","type":"function",
      "function":{"name":"get","arguments":"{"}}]},"finish_reason":"length"}]})");
  ASSERT_TRUE(answer);
  const auto whole = make_response_translator(request())->whole(*answer);
  EXPECT_THAT(whole, HasSubstr(R"("type":"message","status":"completed")"));
  EXPECT_THAT(whole, HasSubstr(R"("type":"function_call","status":"incomplete")"));
}

TEST(ResponseTranslatorTest, NothingSaidIsAnEmptyMessage) {
  EXPECT_THAT(names(translated({}, "stop")),
              ElementsAre("created", "in_progress", "output_item.added", "content_part.added", "output_text.done",
                          "content_part.done", "output_item.done", "completed"));
}

TEST(ResponseTranslatorTest, AFailureIsTheLastEvent) {
  auto asked = request();
  asked.id = "req-1a";
  asked.about.model = "the-one-that-is-loaded";
  asked.received = WallTime(std::chrono::seconds(1'700'000'000));
  const auto translator = make_response_translator(asked);
  std::string out;
  translator->ping(out);
  EXPECT_EQ(out, ": ping\n\n");
  translator->failure(out, {make_error_code(protocol::errc::remote_upstream), "the engine has gone"});
  const auto events = events_of(out);
  EXPECT_THAT(names(events), ElementsAre("created", "in_progress", "failed"));
  for (const auto& event : events) {
    EXPECT_THAT(event.data, HasSubstr(R"("id":"resp_1a","object":"response","created_at":1700000000)"));
    EXPECT_THAT(event.data, HasSubstr(R"("model":"the-one-that-is-loaded")"));
  }
  EXPECT_THAT(events.back().data, HasSubstr(R"("error":{"code":"server_error","message":"the engine has gone"})"));
}

TEST(ResponseTranslatorTest, AFailureSaysWhatCanBeDoneAboutIt) {
  const auto code = [](protocol::errc cause) {
    std::string out;
    make_response_translator(request())->failure(out, {make_error_code(cause), "no"});
    const auto parsed = json::parse(events_of(out).back().data);
    EXPECT_TRUE(parsed);
    return json::serialize(parsed->at("response").at("error").at("code"));
  };
  EXPECT_EQ(code(protocol::errc::context_length_exceeded), R"("context_length_exceeded")");
  EXPECT_EQ(code(protocol::errc::remote_rate_limited), R"("rate_limit_exceeded")");
  EXPECT_EQ(code(protocol::errc::remote_upstream), R"("server_error")");
  EXPECT_EQ(code(protocol::errc::bad_value), R"("invalid_prompt")") << "to be tried again would be in vain";
}

TEST(ResponseTranslatorTest, WhatDiesInTheMiddleFails) {
  const auto asked = request();
  const auto text = translated_text(
      {": ping\n\n", http::sse_data(R"({"id":"chatcmpl-7","choices":[{"index":0,"delta":{"content":"a"}}]})")},
      make_response_translator(asked));
  EXPECT_THAT(text, testing::StartsWith(": ping\n\nevent: response.created\n"));
  const auto events = events_of(text);
  EXPECT_THAT(names(events), ElementsAre("created", "in_progress", "output_item.added", "content_part.added",
                                         "output_text.delta", "failed"));
  EXPECT_THAT(events.back().data, HasSubstr("the response was cut off"));
}

TEST(ResponseTranslatorTest, WhileATextIsCollectedTheClientIsPinged) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 70; ++i) {
    pieces.push_back(http::sse_data(
        R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"p","arguments":"x"}}]}}]})"));
  }
  const auto text = translated_text(std::move(pieces),
                                    make_response_translator(request(R"(,"tools":[{"type":"custom","name":"p"}])")));
  EXPECT_THAT(text, HasSubstr("\n\n: ping\n\n"));
}

TEST(ResponseTranslatorTest, AWholeAnswerIsOneObject) {
  const auto asked = request(R"(,"temperature":0.5,"metadata":{"a":"b"},"instructions":"Be kind.")");
  const auto answer = protocol::read_answer(
      R"({"id":"chatcmpl-7","created":5,"model":"m","choices":[{"index":0,"message":{"role":"assistant",
      "content":"Hi","reasoning_content":"Hm.","tool_calls":[{"id":"c","type":"function",
      "function":{"name":"get","arguments":"{}"}}]},"finish_reason":"tool_calls"}],
      "usage":{"prompt_tokens":4,"completion_tokens":2}})");
  ASSERT_TRUE(answer);
  const auto whole = json::parse(make_response_translator(asked)->whole(*answer));
  ASSERT_TRUE(whole);
  EXPECT_EQ(json::text_or(*whole, "status", ""), "completed");
  EXPECT_EQ(json::text_or(*whole, "instructions", ""), "Be kind.");
  EXPECT_EQ(json::number_or(*whole, "temperature", 0), 0.5);
  EXPECT_EQ(json::serialize(*json::find(*whole, "metadata")), R"({"a":"b"})");
  const auto output = json::serialize(*json::find(*whole, "output"));
  EXPECT_THAT(output, HasSubstr(R"("type":"reasoning")"));
  EXPECT_THAT(output, HasSubstr(R"("type":"message")"));
  EXPECT_THAT(output, HasSubstr(R"({"id":"fc_7_2","type":"function_call","status":"completed","call_id":"c")"));
}

TEST(CustomInput, IsWhatHadComeOfATextThatWasCutOff) {
  EXPECT_EQ(custom_input(R"({"input":"a \"b\" \ud83d\ude00"})"), "a \"b\" 😀");
  const std::string whole = R"({ "input" : "a\n\ud83d\ude00)";
  EXPECT_EQ(custom_input(whole), "a\n😀");
  for (std::size_t less = 1; less < 12; ++less)
    EXPECT_EQ(custom_input(whole.substr(0, whole.size() - less)), "a\n") << less;
  EXPECT_EQ(custom_input(R"({"input":"a\)"), "a");
  EXPECT_EQ(custom_input(R"({"input":"a \ud83d b"})"), "a \uFFFD b");
  const std::string half = R"({"input":"\ud83d\ud83d\ude00 b)";
  EXPECT_EQ(custom_input(half), "\uFFFD😀 b");
  for (std::size_t less = 3; less < half.size(); ++less) {
    const auto known = less < 9 ? "\uFFFD" : "";  // the first half is alone, or a character that is still to come
    EXPECT_EQ(custom_input(half.substr(0, half.size() - less)), known) << less;
  }
  for (const auto* nothing : {"", "{", R"({"inp)", R"({"input":)", R"({"input":7})", "a"})
    EXPECT_EQ(custom_input(nothing), "");
}

}  // namespace
}  // namespace corral::dialects::responses
