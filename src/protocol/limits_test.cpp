// What a body may ask for, by numbers: each of these once took seconds, memory without a bound, or the process.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "protocol/errors.h"
#include "protocol/fields.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

using ::testing::HasSubstr;

std::string repeated(std::size_t times, std::string_view text, std::string_view between = ",") {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    if (i > 0) all += between;
    all += text;
  }
  return all;
}

std::string chat(const std::string& more) {
  return R"({"model":"m","messages":[{"role":"user","content":"hi"}],)" + more + "}";
}

void refused(const std::string& body, std::string_view param, std::string_view message) {
  const auto checked = check(body, chat_fields());
  ASSERT_FALSE(checked) << body.substr(0, 200);
  EXPECT_EQ(checked.error().code, errc::bad_value) << body.substr(0, 200);
  EXPECT_EQ(checked.error().param, param);
  EXPECT_THAT(checked.error().message, HasSubstr(message));
}

void taken(const std::string& body) {
  const auto checked = check(body, chat_fields());
  EXPECT_TRUE(checked) << checked.error().message << ": " << body.substr(0, 200);
}

TEST(Limits, MessagesPartsAndCalls) {
  const auto talk = [](std::size_t messages) {
    return R"({"messages":[)" + repeated(messages, R"({"role":"user","content":"x"})") + "]}";
  };
  taken(talk(kMaxMessages));
  refused(talk(kMaxMessages + 1), "messages",
          "has 4097 elements, at most 4096 are allowed: omit old ones or join them");
  const auto parts = [](std::size_t count) {
    return R"({"messages":[{"role":"user","content":[)" + repeated(count, R"({"type":"text","text":"x"})") + "]}]}";
  };
  taken(parts(kMaxParts));
  refused(parts(kMaxParts + 1), "messages[0].content", "at most 1024 are allowed: join them");
  const auto calls = [](std::size_t count) {
    return R"({"messages":[{"role":"assistant","tool_calls":[)" +
           repeated(count, R"({"type":"function","function":{"name":"f","arguments":"{}"}})") +
           R"(]},{"role":"user","content":"x"}]})";
  };
  taken(calls(kMaxCalls));
  refused(calls(kMaxCalls + 1), "messages[0].tool_calls", "at most 256");
}

// What stands beside the content was measured against nothing.
TEST(Limits, WhatMessagesHoldBesideTheirContent) {
  const auto message = [](std::string_view role, const std::string& more) {
    return fmt::format(R"({{"messages":[{{"role":"{}","content":"x"{}}}]}})", role, more);
  };
  const auto values = [](std::size_t count) { return R"(,"extra":[)" + repeated(count, "{}") + "]"; };
  taken(message("user", values(kMaxMessageValues - 5)));
  refused(message("user", values(kMaxMessageValues)), "messages", "JSON values in all, at most 100000 are allowed");
  const std::string long_text(kMaxMessageExtras, 'x');
  for (const auto* name : {"reasoning_content", "name", "extra"}) {
    refused(message("assistant", fmt::format(R"(,"{}":"{}")", name, long_text)), "messages",
            "bytes beside the 'content' of messages, at most 4194304 are allowed: omit old reasoning");
  }
  refused(message("assistant",
                  R"(,"tool_calls":[{"type":"function","function":{"name":"f","arguments":")" + long_text + R"("}}])"),
          "messages", "beside the 'content'");
  taken(R"({"messages":[{"role":"user","content":")" + long_text + R"("}]})");  // the context decides
}

TEST(Limits, ArgumentsOfTemplates) {
  const auto kwargs = [](std::size_t bytes) {
    return chat(R"("chat_template_kwargs":{"a":")" + std::string(bytes, 'x') + "\"}");
  };
  taken(kwargs(kMaxTemplateBytes - 10));
  refused(kwargs(kMaxTemplateBytes), "chat_template_kwargs",
          "at most 65536 are allowed: put long text into 'messages'");
}

// Rules between fields look for many of them, each time in all.
TEST(Limits, Fields) {
  const auto fields = [](std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += fmt::format(R"("a{}":0,)", i);
    return chat(all + R"("b":0)");
  };
  taken(fields(500));
  refused(fields(512), "", "more than 512 fields");
}

TEST(Limits, Tools) {
  const auto tools = [](std::size_t count, std::string_view parameters = R"({"type":"object"})") {
    return chat(
        R"("tools":[)" +
        repeated(count, fmt::format(R"({{"type":"function","function":{{"name":"f","parameters":{}}}}})", parameters)) +
        "]");
  };
  taken(tools(kMaxTools));
  refused(tools(kMaxTools + 1), "tools", "at most 512 are allowed: offer those that this conversation needs");
  const auto wide =
      R"({"type":"object","properties":{)" + repeated(100, R"("p":{"type":"string"})") + R"(},"required":["p"]})";
  taken(tools(32, wide));
  refused(tools(400, wide), "tools", "offer those that this conversation needs");
  refused(chat(R"("tools":[{"type":"function","function":{"name":")" + std::string(257, 'n') + R"("}}])"),
          "tools[0].function.name", "257 bytes, at most 256");
}

TEST(Limits, Stops) {
  taken(chat(R"("stop":[)" + repeated(64, "\"" + std::string(256, 'a') + "\"") + "]"));
  refused(chat(R"("stop":[)" + repeated(65, R"("a")") + "]"), "stop", "has 65 elements, at most 64");
  refused(chat(R"("stop":")" + std::string(257, 'a') + "\""), "stop", "257 bytes, at most 256");
  refused(chat(R"("stop":["a",")" + std::string(257, 'a') + "\"]"), "stop[1]", "257 bytes, at most 256");
}

TEST(Limits, EachSamplerOnce) {
  taken(chat(R"("samplers":"edskypmxt")"));
  refused(chat(R"("samplers":"kk")"), "samplers", "has \"k\" twice");
  refused(chat(R"("samplers":["top_k","min_p","top-k"])"), "samplers[2]", "twice");
  refused(chat(R"("dry_sequence_breakers":[")" + std::string(129, 'a') + "\"]"), "dry_sequence_breakers[0]",
          "at most 128");
}

// --- schemas ---

void schema_refused(const std::string& schema, std::string_view message) {
  refused(chat(R"("json_schema":)" + schema), "json_schema", message);
  refused(chat(R"("response_format":{"type":"json_schema","json_schema":{"schema":)" + schema + "}}"),
          "response_format.json_schema.schema", message);
  refused(chat(R"("tools":[{"type":"function","function":{"name":"f","parameters":)" + schema + "}}]"),
          "tools[0].function.parameters", message);
}

std::string object(std::size_t properties, bool required) {
  std::string inside, names;
  for (std::size_t i = 0; i < properties; ++i) {
    const auto* comma = i > 0 ? "," : "";
    inside += fmt::format(R"({}"p{}":{{"type":"string"}})", comma, i);
    names += fmt::format(R"({}"p{}")", comma, i);
  }
  return fmt::format(R"({{"type":"object","properties":{{{}}},"required":[{}]}})", inside, required ? names : "");
}

TEST(Limits, PropertiesOfSchemas) {
  taken(chat(R"("json_schema":)" + object(512, true)));
  taken(chat(R"("json_schema":)" + object(512, false)));
  const auto tool = [](std::size_t optional) {
    return chat(R"("tools":[{"type":"function","function":{"name":"f","parameters":)" + object(optional, false) +
                "}}]");
  };
  taken(tool(128));
  refused(tool(129), "tools[0].function.parameters",
          "'tools[0].function.parameters' has 129 optional properties, at most 128 are allowed: list more of them in "
          "'required'");
  schema_refused(object(513, true), "has 513 properties in one object, at most 512");
  // Merged into one object.
  const std::string parts = R"({"$defs":{"a":)" + object(100, true) + R"(},"allOf":[)";
  taken(chat(R"("json_schema":)" + parts + repeated(5, R"({"$ref":"#/$defs/a"})") + "]}"));
  schema_refused(parts + repeated(6, R"({"$ref":"#/$defs/a"})") + "]}", "has 600 properties in one object");
  schema_refused(R"({"$defs":{"a":)" + object(100, true) + R"(},"allOf":[{"anyOf":[)" +
                     repeated(6, R"({"$ref":"#/$defs/a"})") + "]}]}",
                 "has 600 properties in one object");
}

TEST(Limits, SizeOfSchemas) {
  const auto choice = [](std::size_t count) { return R"({"anyOf":[)" + repeated(count, R"({"type":"null"})") + "]}"; };
  taken(chat(R"("json_schema":)" + choice(4000)));
  schema_refused(choice(4100), "more than 4096 parts");
  // Definitions that nobody needs, and values as long as one likes.
  refused(chat(R"("json_schema":{"$defs":{"a":{"const":")" + std::string(SchemaLimits::kBytes, 'x') + "\"}}}"),
          "json_schema", "bytes, at most 524288 are allowed: make it smaller");
  schema_refused(R"({"enum":[)" + repeated(2049, "1") + "]}", "has 2049 values in its lists");
  schema_refused(R"({"type":"string","pattern":"^)" + std::string(1100, 'a') + R"($"})", "bytes in a pattern");
  schema_refused(R"({"type":[)" + repeated(9, R"("null")") + "]}", "has 9 types in one list");
  std::string doubling = R"({"type":"null"})", deep = doubling, named = doubling;
  for (int i = 0; i < 12; ++i) doubling = R"({"type":["array","array"],"items":)" + doubling + "}";
  schema_refused(doubling, "more than 4096 parts");
  for (int i = 0; i < 40; ++i) deep = R"({"type":"array","items":)" + deep + "}";
  schema_refused(deep, "nests more than 32 deep");
  for (int i = 0; i < 3; ++i) named = R"({"properties":{")" + std::string(200, '%') + R"(":)" + named + "}}";
  schema_refused(named, "bytes in the names of properties");
}

TEST(Limits, ReferencesOfSchemas) {
  taken(chat(R"("json_schema":{"$defs":{"t":{"properties":{"next":{"$ref":"#/$defs/t"}}}},"$ref":"#/$defs/t"})"));
  // Followed for ever by what merges parts: a stack overflow.
  schema_refused(R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"allOf":[{"$ref":"#/$defs/a"}]})",
                 "never reaches a schema");
  schema_refused(R"({"$ref":"#/$defs/)" + std::string(300, 'a') + "\"}", "bytes in a '$ref'");
  schema_refused(R"({"$ref":")" + std::string(300, 'a') + "\"}", "bytes in a '$ref'");
  std::string many;
  for (int i = 0; i < 257; ++i) many += fmt::format(R"({}{{"$ref":"#/$defs/a{}"}})", i > 0 ? "," : "", i);
  schema_refused(R"({"anyOf":[)" + many + "]}", "different '$ref's, at most 256");
  schema_refused(R"({"allOf":[)" + many + "]}", "different '$ref's, at most 256");
  // Each target counts.
  const auto large = R"({"anyOf":[)" + repeated(3000, R"({"type":"null"})") + "]}";
  const std::string big =
      R"({"$defs":{"a":)" + large + R"(,"b":)" + large + R"(},"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]})";
  schema_refused(big, "more than 4096 parts");
}

}  // namespace
}  // namespace corral::protocol
