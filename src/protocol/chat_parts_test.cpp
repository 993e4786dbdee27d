#include "protocol/chat_parts.h"

#include <gmock/gmock.h>

#include "protocol/errors.h"
#include "protocol/requests.h"

namespace corral::protocol {
namespace {

std::string chat_body(std::string_view messages, std::string_view more = "") {
  return std::string(R"({"messages":)").append(messages).append(more).append("}");
}

std::string messages_of(std::string_view messages) {
  const auto request = parse_chat_request(chat_body(messages));
  return request ? request->messages : request.error().message;
}

std::string tools_of(std::string_view tools) {
  const auto more = std::string(R"(,"tools":)").append(tools);
  const auto request = parse_chat_request(chat_body(R"([{"role":"user","content":"x"}])", more));
  return request ? request->tools : request.error().message;
}

std::string called_with(std::string_view arguments) {
  return std::string(R"([{"role":"assistant","content":null,"tool_calls":[{"id":null,"type":"function","function":{)")
      .append(R"("name":"f","arguments":)")
      .append(arguments)
      .append(R"(}}]},{"role":"user","content":"x"}])");
}

TEST(ChatParts, MembersOfMessagesThatAreNullAreLeftOut) {
  EXPECT_EQ(messages_of(R"([{"role":"user","content":"x","name":null,"tool_call_id":null,"reasoning_content":null,)"
                        R"("tool_calls":null,"refusal":null,"function_call":null}])"),
            R"([{"role":"user","content":"x"}])");
  EXPECT_EQ(messages_of(R"([{"role":"user","content":[{"type":"text","text":"x","image_url":null,"cache":null}]}])"),
            R"([{"role":"user","content":[{"type":"text","text":"x"}]}])");
}

TEST(ChatParts, ArgumentsAreAnObject) {
  const auto with = [](std::string_view arguments) {
    return std::string(R"([{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{)")
        .append(R"("name":"f","arguments":)")
        .append(arguments)
        .append(R"(}}]},{"role":"user","content":"x"}])");
  };
  for (const auto* none : {R"("")", R"(" \n")", R"("null")", R"("{}")"})
    EXPECT_EQ(messages_of(called_with(none)), with(R"("{}")")) << none;
  EXPECT_EQ(messages_of(called_with(R"({"a":null})")), with(R"({"a":null})"));
  EXPECT_EQ(messages_of(called_with(R"("{\"a\":1}")")), with(R"("{\"a\":1}")"));
  EXPECT_EQ(messages_of(called_with(R"("{\"a\":")")), with(R"({"arguments":"{\"a\":"})"));
  EXPECT_EQ(messages_of(called_with(R"("[1]")")), with(R"({"arguments":"[1]"})"));
}

// Such arguments became a text within an object.
TEST(ChatParts, HalfAnEmojiInArgumentsIsAReplacementCharacter) {
  const auto whole = messages_of(called_with(R"("{\"a\":\"x \\ufffd y\",\"\\ufffd\":1}")"));
  EXPECT_EQ(messages_of(called_with(R"("{\"a\":\"x \\ud83d y\",\"\\ude00\":1}")")), whole);
  EXPECT_THAT(messages_of(called_with(R"("{\"a\":\"\\ud83d\\ude00\"}")")), testing::HasSubstr(R"(\\ud83d\\ude00)"));
}

// Each of these passed the field table, and the library behind it threw.
TEST(ChatParts, RefusalsAndOldCallsBecomeWhatTemplatesKnow) {
  EXPECT_EQ(messages_of(R"([{"role":"assistant","refusal":"no"},{"role":"user","content":"x"}])"),
            R"([{"role":"assistant","content":"no"},{"role":"user","content":"x"}])");
  EXPECT_EQ(messages_of(R"([{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}])"),
            R"([{"role":"assistant","content":[{"type":"text","text":"no"}]}])");
  EXPECT_EQ(messages_of(R"([{"role":"assistant","reasoning_content":"hm"},{"role":"user","content":"x"}])"),
            R"([{"role":"assistant","content":null,"reasoning_content":"hm"},{"role":"user","content":"x"}])");
  EXPECT_EQ(messages_of(R"([{"role":"assistant","function_call":{"name":"f","arguments":""}},)"
                        R"({"role":"function","name":"f","content":"4"}])"),
            R"([{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"f",)"
            R"("arguments":"{}"}}]},{"role":"tool","content":"4","name":"f"}])");
}

TEST(ChatParts, MembersOfToolsThatAreNullAreLeftOut) {
  EXPECT_EQ(
      tools_of(R"([{"type":"function","function":{"name":"f","description":null,"parameters":null,"strict":null},)"
               R"("cache_control":null}])"),
      R"([{"type":"function","function":{"name":"f"}}])");
  EXPECT_EQ(tools_of(R"([{"type":"function","function":{"name":"f","parameters":{"type":"object","title":null,)"
                     R"("properties":{"default":{"type":"string","pattern":null,"default":null}},"required":null}}}])"),
            R"([{"type":"function","function":{"name":"f","parameters":{"type":"object",)"
            R"("properties":{"default":{"type":"string","default":null}}}}}])");
}

TEST(ChatParts, ValuesOfSchemasKeepTheirNulls) {
  const std::string schema = R"({"enum":["a",null],"const":null,"default":{"a":null},"anyOf":[{"type":"null"}]})";
  const auto peek = json::Peek::open(schema);
  ASSERT_TRUE(peek);
  EXPECT_EQ(schema_without_nulls(peek->root()), schema);
}

TEST(ChatParts, NullMeansNotGivenInMapsToo) {
  const auto request = parse_chat_request(
      chat_body(R"([{"role":"user","content":"x"}])",
                R"(,"logit_bias":{"5":null,"6":1},"chat_template_kwargs":{"enable_thinking":null,"a":1})"));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->logit_bias.size(), 1u);
  EXPECT_THAT(request->template_kwargs, testing::ElementsAre(testing::Pair("a", "1")));
}

TEST(ChatParts, OfMembersWithOneNameTheLastCounts) {
  const auto request = parse_chat_request(chat_body(R"([{"role":"user","content":"x","content":null}])"));
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().param, "messages[0].content");
  EXPECT_EQ(messages_of(R"([{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","name":null,)"
                        R"("arguments":""}}]},{"role":"user","content":"x"}])"),
            R"([{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"",)"
            R"("arguments":"{}"}}]},{"role":"user","content":"x"}])");
}

TEST(ChatParts, AMessageRepeatsLittleOfALongName) {
  const auto request = parse_chat_request(
      chat_body(R"([{"role":"user","content":"x"}])",
                R"(,"tool_choice":{"type":"function","function":{"name":")" + std::string(20'000, 'n') + R"("}})"));
  ASSERT_FALSE(request);
  EXPECT_LT(request.error().message.size(), 400u);
}

}  // namespace
}  // namespace corral::protocol
