// Canonical answers as Anthropic's messages: whole ones, and events in their order however the canonical ones were cut.
#include "dialects/anthropic/message_translator.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialects/anthropic/count_translator.h"
#include "dialects/anthropic/read.h"
#include "dialects/dialect_fixture_for_tests.h"
#include "http/sse.h"
#include "json/value.h"
#include "protocol/errors.h"
#include "protocol/http_error.h"

namespace corral::dialects::anthropic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Canonical request(const std::string& more = {}) {
  auto asked = read_message(R"({"model":"m","max_tokens":8,"stream":true,"messages":[{"role":"user","content":"x"}])" +
                            more + "}");
  EXPECT_TRUE(asked);
  return std::move(*asked);
}
const std::string kThink = R"(,"thinking":{"type":"adaptive"})";

std::string streamed(std::vector<std::string> pieces, const std::string& more = {}) {
  auto translator = make_message_translator(request(more));
  EXPECT_EQ(translator->stream_type(), "text/event-stream");
  return translated_text(std::move(pieces), std::move(translator));
}

struct Event {
  std::string name;
  json::Value data;
  std::string text() const { return json::serialize(data); }
};
std::vector<Event> events(const std::string& stream) {
  std::vector<Event> all;
  http::SseParser parser([&](std::string_view name, std::string_view data) {
    auto value = json::parse(data);
    EXPECT_TRUE(value) << data;
    EXPECT_EQ(json::text_or(*value, "type", ""), name) << "each event says its name inside, too";
    all.push_back({std::string(name), std::move(*value)});
  });
  parser.feed(stream);
  return all;
}
// The names of all, a word for each: "start", "+text", "text", "-", ..., "delta", "stop".
std::string order(const std::string& stream) {
  std::string words;
  for (const auto& [name, data] : events(stream)) {
    std::string word = name.starts_with("message_") ? name.substr(8) : name;
    if (name == "content_block_start") word = "+" + std::string(data.at("content_block").at("type").as_string());
    if (name == "content_block_delta") word = data.at("delta").at("type").as_string();
    if (name == "content_block_stop") word = "-";
    if (name.starts_with("content_block")) word += std::to_string(data.at("index").as_int64());
    words += (words.empty() ? "" : " ") + word;
  }
  return words;
}

std::string chunk(const std::string& delta, const std::string& more = {}) {
  return http::sse_data(R"({"id":"chatcmpl-7","model":"m7","choices":[{"index":0,"delta":{)" + delta +
                        R"(},"finish_reason":null}])" + more + "}");
}
std::string finish(const std::string& reason, const std::string& more = {}) {
  return http::sse_data(R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + reason + "\"" + more + "}]}");
}
std::string usage(int prompt, int cached, int completion) {
  return http::sse_data(fmt::format(
      R"({{"choices":[],"usage":{{"prompt_tokens":{},"completion_tokens":{},"prompt_tokens_details":{{"cached_tokens":{}}}}}}})",
      prompt, completion, cached));
}
const std::string kRole = chunk(R"("role":"assistant","content":"")",
                                R"(,"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4}})");
const std::string kDone(http::kSseDone);

TEST(MessageStream, TextComesAsOneBlock) {
  const auto stream =
      streamed({kRole, chunk(R"("content":"a\n")"), chunk(R"("content":"b")"), finish("stop"), usage(9, 4, 2), kDone});
  EXPECT_EQ(order(stream), "start +text0 text_delta0 text_delta0 -0 delta stop");
  const auto all = events(stream);
  EXPECT_EQ(
      all[0].text(),
      R"({"type":"message_start","message":{"id":"msg_7","type":"message","role":"assistant","model":"m",)"
      R"("content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"container":null,"usage":{"input_tokens":5,)"
      R"("cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":0,)"
      R"("service_tier":"standard","cache_creation":null,"server_tool_use":null,)"
      R"("output_tokens_details":null,"inference_geo":null,"speed":null}}})");
  EXPECT_EQ(all[1].text(), R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})");
  EXPECT_EQ(all[2].text(), R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n"}})");
  EXPECT_EQ(all[4].text(), R"({"type":"content_block_stop","index":0})");
  EXPECT_EQ(
      all[5].text(),
      R"({"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"container":null},"usage":{)"
      R"("input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":2,)"
      R"("service_tier":"standard","cache_creation":null,"server_tool_use":null,)"
      R"("output_tokens_details":null,"inference_geo":null,"speed":null}})");
  EXPECT_EQ(all[6].text(), R"({"type":"message_stop"})");
  EXPECT_THAT(stream, testing::EndsWith("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
}

TEST(MessageStream, IsTheSameHoweverItWasCut) {
  const auto all = kRole + chunk(R"("reasoning_content":"h")") + ": ping\n\n" + chunk(R"("content":"ä")") +
                   finish("length") + usage(1, 0, 8) + kDone;
  const auto whole = streamed({all}, kThink);
  EXPECT_EQ(order(whole), "start +thinking0 thinking_delta0 ping signature_delta0 -0 +text1 text_delta1 -1 delta stop");
  for (std::size_t cut = 1; cut < all.size(); ++cut)
    ASSERT_EQ(streamed({all.substr(0, cut), all.substr(cut)}, kThink), whole) << cut;
}

TEST(MessageStream, PingsBeforeAnythingIsKnownComeBehindTheStart) {
  const auto stream =
      streamed({": ping\n\n", ": ping\n\n", kRole, chunk(R"("content":"a")"), finish("stop"), usage(9, 4, 1), kDone});
  EXPECT_EQ(order(stream), "start ping ping +text0 text_delta0 -0 delta stop");
  EXPECT_EQ(events(stream)[0].data.at("message").at("usage").at("input_tokens").as_int64(), 0);
  const auto last = events(stream)[6].data.at("usage");
  EXPECT_EQ(last.at("input_tokens").as_int64(), 5) << "then it is known";
}

TEST(MessageStream, OfWhatTheRequestKnowsNothingIsWaitedFor) {
  auto asked = read_message(R"({"max_tokens":8,"stream":true,"messages":[{"role":"user","content":"x"}]})");
  ASSERT_TRUE(asked);
  asked->id = "req-1a";
  asked->about.model = "the-one-that-is-loaded";
  const auto stream = translated_text({": ping\n\n", kRole, kDone}, make_message_translator(*asked));
  EXPECT_EQ(events(stream)[0].data.at("message").at("id").as_string(), "msg_1a");
  EXPECT_EQ(events(stream)[0].data.at("message").at("model").as_string(), "the-one-that-is-loaded");
}

TEST(MessageStream, CallsAreBlocksOfTheirOwn) {
  const auto call = [](int index, const std::string& more) {
    return chunk(fmt::format(R"("tool_calls":[{{"index":{},{}}}])", index, more));
  };
  const auto stream = streamed(
      {kRole, chunk(R"("content":"I look")"), call(0, R"("id":"t1","function":{"name":"f","arguments":""})"),
       call(0, R"("function":{"arguments":"{\"a\":"})"), call(0, R"("function":{"arguments":"1}"})"),
       call(1, R"("id":"t2","function":{"name":"g","arguments":"{}"})"), finish("tool_calls"), usage(9, 0, 3), kDone});
  EXPECT_EQ(order(stream),
            "start +text0 text_delta0 -0 +tool_use1 input_json_delta1 input_json_delta1 -1 +tool_use2 "
            "input_json_delta2 -2 delta stop");
  const auto all = events(stream);
  EXPECT_EQ(all[4].text(),
            R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"f",)"
            R"("input":{},"caller":{"type":"direct"}}})");
  EXPECT_EQ(all[5].text(),
            R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}})");
  EXPECT_THAT(all[all.size() - 2].text(), HasSubstr(R"("stop_reason":"tool_use")"));
}

TEST(MessageStream, ThoughtsComeOnlyToThoseWhoAsked) {
  const std::vector<std::string> pieces = {
      kRole, chunk(R"("reasoning_content":"hm")"), chunk(R"("content":"a")"), finish("stop"), usage(9, 4, 2), kDone};
  EXPECT_EQ(order(streamed(pieces)), "start +text0 text_delta0 -0 delta stop");
  EXPECT_EQ(order(streamed(pieces, kThink)),
            "start +thinking0 thinking_delta0 signature_delta0 -0 +text1 text_delta1 -1 delta stop");
  EXPECT_EQ(order(streamed(pieces, R"(,"thinking":{"type":"adaptive","display":"omitted"})")),
            "start +thinking0 signature_delta0 -0 +text1 text_delta1 -1 delta stop");
}

TEST(MessageStream, ALongThoughtThatIsntShownIsASignOfLifeNowAndThen) {
  std::vector<std::string> pieces = {kRole};
  for (int i = 0; i < 200; ++i) pieces.push_back(chunk(R"("reasoning_content":"hm")"));
  pieces.push_back(kDone);
  EXPECT_EQ(order(streamed(pieces)), "start ping ping ping delta stop");
}

TEST(MessageStream, SaysWhyItEnded) {
  const auto end = [](const std::string& last, int tokens) {
    const auto all = events(streamed({kRole, chunk(R"("content":"a")"), last, usage(9, 0, tokens), kDone}));
    return json::serialize(all[all.size() - 2].data.at("delta"));
  };
  EXPECT_EQ(end(finish("stop"), 2),
            R"({"stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"container":null})");
  EXPECT_EQ(end(finish("stop", R"(,"stopping_word":"END")"), 2),
            R"({"stop_reason":"stop_sequence","stop_sequence":"END","stop_details":null,"container":null})");
  EXPECT_EQ(end(finish("length"), 8),
            R"({"stop_reason":"max_tokens","stop_sequence":null,"stop_details":null,"container":null})");
  EXPECT_EQ(
      end(finish("length"), 7),
      R"({"stop_reason":"model_context_window_exceeded","stop_sequence":null,"stop_details":null,"container":null})")
      << "fewer than it was allowed";
  EXPECT_EQ(end(finish("content_filter"), 2),
            R"({"stop_reason":"refusal","stop_sequence":null,"stop_details":null,"container":null})");
}

TEST(MessageStream, AnAnswerOfNothingIsAMessageAllTheSame) {
  EXPECT_EQ(order(streamed({kDone})), "start delta stop");
  EXPECT_EQ(order(streamed({})), "error") << "but what broke off is none";
}

TEST(MessageStream, AnErrorEndsIt) {
  const Error error(make_error_code(protocol::errc::remote_unavailable), "no room");
  const auto stream = streamed({kRole, chunk(R"("content":"a")"), protocol::sse_error_event(error)});
  EXPECT_EQ(order(stream), "start +text0 text_delta0 error");
  EXPECT_EQ(events(stream).back().text(),
            R"({"type":"error","error":{"type":"overloaded_error","message":"no room"}})");
}

TEST(MessageStream, OfSeveralAnswersTheFirstIsTold) {
  const auto other = http::sse_data(R"({"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":null}]})");
  EXPECT_EQ(order(streamed({kRole, other, chunk(R"("content":"a")"), kDone})),
            "start +text0 text_delta0 -0 delta stop");
}

std::string whole(const std::string& message, const std::string& end = R"("finish_reason":"stop")",
                  const std::string& more = {}, int tokens = 3) {
  auto answer = translated(
      http::Response::json(
          200, fmt::format(R"({{"id":"chatcmpl-7","model":"m7","choices":[{{"index":0,"message":{{{}}},{}}}],)"
                           R"("usage":{{"prompt_tokens":9,"completion_tokens":{},)"
                           R"("prompt_tokens_details":{{"cached_tokens":4}}}}}})",
                           message, end, tokens)),
      make_message_translator(request(more)));
  EXPECT_EQ(answer.head.status, 200u) << answer.body.text();
  return answer.body.text();
}

TEST(WholeMessage, Text) {
  EXPECT_EQ(
      whole(R"("role":"assistant","content":"hi")"),
      R"({"id":"msg_7","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],)"
      R"("stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"container":null,"usage":{"input_tokens":5,)"
      R"("cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":3,)"
      R"("service_tier":"standard","cache_creation":null,"server_tool_use":null,)"
      R"("output_tokens_details":null,"inference_geo":null,"speed":null}})");
}

TEST(WholeMessage, ThoughtsTextAndCallsInThatOrder) {
  const std::string message =
      R"("content":"hi","reasoning_content":"hm","tool_calls":[{"id":"t1","function":{"name":"f","arguments":"{\"a\":1}"}},)"
      R"({"id":"t2","function":{"name":"g","arguments":"{\"cut"}}])";
  const std::string calls = R"({"type":"text","text":"hi"},)"
                            R"({"type":"tool_use","id":"t1","name":"f","input":{"a":1},"caller":{"type":"direct"}},)"
                            R"({"type":"tool_use","id":"t2","name":"g","input":{},"caller":{"type":"direct"}}],)"
                            R"("stop_reason":"tool_use")";
  EXPECT_THAT(whole(message, R"("finish_reason":"tool_calls")"), HasSubstr("\"content\":[" + calls));
  EXPECT_THAT(whole(message, R"("finish_reason":"tool_calls")", kThink),
              HasSubstr(R"("content":[{"type":"thinking","thinking":"hm","signature":"unsigned"},)" + calls));
  EXPECT_THAT(
      whole(message, R"("finish_reason":"tool_calls")", R"(,"thinking":{"type":"adaptive","display":"omitted"})"),
      HasSubstr(R"({"type":"thinking","thinking":"","signature":"unsigned"})"));
}

TEST(WholeMessage, SaysWhyItEnded) {
  EXPECT_THAT(whole(R"("content":"a")", R"("finish_reason":"stop","stopping_word":"b\n")"),
              HasSubstr(R"("stop_reason":"stop_sequence","stop_sequence":"b\n")"));
  EXPECT_THAT(whole(R"("content":"a")", R"("finish_reason":"length")", "", 8), HasSubstr(R"("max_tokens")"));
  EXPECT_THAT(whole(R"("content":"")"), HasSubstr(R"("content":[],"stop_reason":"end_turn")"));
}

TEST(WholeMessage, HoldsWhatComesBehindABegunAnswer) {
  auto asked = read_message(R"({"max_tokens":8,"messages":[{"role":"user","content":"x"},)"
                            R"({"role":"assistant","content":"One"}]})");
  ASSERT_TRUE(asked);
  const auto answer =
      translated(http::Response::json(200, R"({"model":"m7","choices":[{"message":{"content":"One two"}}]})"),
                 make_message_translator(*asked), {}, asked->begun);
  EXPECT_THAT(answer.body.text(), HasSubstr(R"("text":" two")"));
  EXPECT_THAT(answer.body.text(), HasSubstr(R"("model":"m7")")) << "who answered, where none was named";
}

TEST(Count, IsOneNumber) {
  const auto asked = read_count(R"({"messages":[{"role":"user","content":"x"}]})");
  ASSERT_TRUE(asked);
  const auto answer = translated(http::Response::json(200, R"({"object":"response.input_tokens","input_tokens":12})"),
                                 make_count_translator(*asked));
  EXPECT_EQ(answer.body.text(), R"({"input_tokens":12})");
}

}  // namespace
}  // namespace corral::dialects::anthropic
