// Compaction: what the model is asked, what stays, and how a compacted conversation is continued.
#include "dialects/responses/compaction.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialects/responses/read.h"
#include "json/value.h"
#include "protocol/answers/piece.h"
#include "protocol/errors.h"
#include "protocol/responses/responses_fields.h"

namespace corral::dialects::responses {
namespace {

using testing::HasSubstr;

constexpr std::string_view kConversation =
    R"([{"role":"system","content":"Be kind."},{"role":"user","content":"Name?"},)"
    R"({"type":"function_call","call_id":"c","name":"f","arguments":"{}"},)"
    R"({"type":"function_call_output","call_id":"c","output":"ok"},)"
    R"({"role":"assistant","content":"Ann."}])";

Canonical compaction(const std::string& more, const Before& before = {.id = "req-7", .keeps = true}) {
  auto asked = read_compaction_on(R"({"model":"m",)" + more + "}", before);
  EXPECT_TRUE(asked) << asked.error().message;
  if (!asked) return {};
  asked->id = "req-7";
  asked->received = WallTime(std::chrono::seconds(1'700'000'000));
  return std::move(*asked);
}
std::string answer_of(const Canonical& asked, const std::string& summary) {
  const auto answer = protocol::read_answer(
      fmt::format(R"({{"choices":[{{"index":0,"message":{{"content":"{}"}},"finish_reason":"stop"}}],)"
                  R"("usage":{{"prompt_tokens":4,"completion_tokens":2}}}})",
                  summary));
  EXPECT_TRUE(answer);
  return make_compaction_translator(asked)->whole(*answer);
}
std::string messages_of(const std::string& input) {
  const auto asked = read_response(R"({"model":"m","input":)" + input + "}");
  EXPECT_TRUE(asked) << asked.error().message;
  return asked ? json::serialize(json::parse(asked->body)->at("messages")) : "";
}

TEST(Compaction, AsksForASummaryAtTheEndOfTheConversation) {
  const auto asked =
      compaction(R"("stream":true,"store":true,"instructions":"S","input":)" + std::string(kConversation));
  EXPECT_EQ(asked.body,
            R"({"model":"m","messages":[{"role":"system","content":"S\nBe kind."},{"role":"user","content":"Name?"},)"
            R"({"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":)"
            R"({"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"ok"},)"
            R"({"role":"assistant","content":"Ann."},{"role":"user","content":")" +
                std::string(kSummarize) + R"("}],"enable_thinking":false,"max_tokens":2048})");
  EXPECT_FALSE(asked.about.stream);
  EXPECT_FALSE(asked.storage->store);
  EXPECT_FALSE(asked.begun.any());
}

TEST(Compaction, KeepsWhatTheUserSaid) {
  EXPECT_EQ(answer_of(compaction(R"("input":)" + std::string(kConversation)), "She is \\\"Ann\\\"."),
            R"({"id":"resp_7","object":"response.compaction","created_at":1700000000,"output":[)"
            R"({"id":"msg_7_i0","type":"message","role":"system","content":[{"type":"input_text","text":"Be kind."}],)"
            R"("status":"completed"},)"
            R"({"id":"msg_7_i1","type":"message","role":"user","content":[{"type":"input_text","text":"Name?"}],)"
            R"("status":"completed"},)"
            R"({"id":"cmp_7_0","type":"compaction","encrypted_content":"corral:summary:She is \"Ann\"."}],)"
            R"("usage":{"input_tokens":4,"input_tokens_details":{"cache_write_tokens":0,"cached_tokens":0},)"
            R"("output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":6}})");
  EXPECT_THAT(answer_of(compaction(R"("input":"Hi")"), "s"), HasSubstr(R"("text":"Hi")"));
}

TEST(Compaction, OfAStoredConversation) {
  const Before before{
      .id = "req-7",
      .keeps = true,
      .found = true,
      .earlier = {R"([{"id":"msg_1_i0","type":"message","role":"user","content":"Q"}])",
                  R"({"output":[{"id":"msg_1_0","type":"message","role":"assistant","content":"A"}]})"}};
  const auto asked = compaction(R"("previous_response_id":"resp_1")", before);
  EXPECT_THAT(asked.body,
              HasSubstr(R"([{"role":"user","content":"Q"},{"role":"assistant","content":"A"},{"role":"user")"));
  EXPECT_EQ(asked.storage->previous, "resp_1");
  EXPECT_THAT(answer_of(asked, "s"),
              HasSubstr(R"("output":[{"id":"msg_1_i0","type":"message","role":"user","content":"Q"},)"
                        R"({"id":"cmp_7_0","type":"compaction",)"));
}

TEST(Compaction, ItsResultIsInputOfLaterRequests) {
  const auto done = json::parse(answer_of(compaction(R"("input":)" + std::string(kConversation)), "She is Ann."));
  ASSERT_TRUE(done);
  auto input = json::serialize(done->at("output"));
  input.back() = ',';
  input += R"({"role":"user","content":"And?"}])";
  EXPECT_EQ(messages_of(input), R"([{"role":"system","content":"Be kind."},{"role":"user","content":"Name?\n)"
                                R"(Summary of the conversation so far:\nShe is Ann.\nAnd?"}])");
  // Also of the next compaction, which replaces the item.
  const auto again = answer_of(compaction(R"("input":)" + input), "Still Ann.");
  EXPECT_THAT(again, HasSubstr("Still Ann."));
  EXPECT_THAT(again, testing::Not(HasSubstr("She is Ann.")));
  EXPECT_EQ(
      messages_of(R"([{"type":"compaction","encrypted_content":"corral:summary:"},{"role":"user","content":"x"}])"),
      R"([{"role":"user","content":"x"}])");
}

TEST(Compaction, ErrorsNameTheField) {
  struct Case {
    std::string body, message, param;
  };
  for (const auto& [body, message, param] :
       {Case{R"({"model":"m"})",
             "'input' is required: a string or an array of objects, unless 'previous_response_id' names an earlier "
             "response",
             "input"},
        Case{R"({"model":"m","input":"x","previous_response_id":"resp_1"})",
             "'previous_response_id' needs stored data of earlier requests, but none are stored: send the whole "
             "conversation in 'input'",
             "previous_response_id"},
        Case{R"({"model":"m","input":[{"type":"compaction","encrypted_content":"gAAAA"}]})",
             "'input[0].encrypted_content' is \"gAAAA\", which is not from this API: only 'POST responses/compact' of "
             "corral makes texts that it can read. Send the messages themselves",
             "input[0].encrypted_content"}}) {
    const auto asked = read_compaction(body);
    ASSERT_FALSE(asked) << body;
    EXPECT_EQ(asked.error().message, message);
    EXPECT_EQ(asked.error().param, param);
  }
  for (const auto& [body, param] :
       {std::pair{R"({"input":"x"})", "model"},
        std::pair{R"({"model":"m","input":[{"type":"compaction"}]})", "input[0].encrypted_content"}})
    EXPECT_EQ(read_compaction(body).error().param, param) << body;
}

}  // namespace
}  // namespace corral::dialects::responses
