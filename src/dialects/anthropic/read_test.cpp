// Anthropic's bodies as canonical requests: each field, each kind of block, and what is refused.
#include "dialects/anthropic/read.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value.h"
#include "protocol/errors.h"

namespace corral::dialects::anthropic {
namespace {

using testing::HasSubstr;

// A body with these messages (JSON) and further members, each with a comma in front.
std::string body_of(const std::string& messages, const std::string& more = {}) {
  return fmt::format(R"({{"model":"m","max_tokens":5,"messages":{}{}}})", messages, more);
}
const std::string kHello = R"([{"role":"user","content":"hello"}])";

Canonical read(const std::string& body) {
  auto asked = read_message(body);
  EXPECT_TRUE(asked) << body << "\n" << asked.error().message;
  return asked ? std::move(*asked) : Canonical();
}
json::Value canonical(const std::string& body) {
  auto value = json::parse(read(body).body);
  EXPECT_TRUE(value);
  return value ? *value : json::Value();
}
std::string messages(const std::string& anthropic) {
  const auto value = canonical(body_of(anthropic));
  const auto* found = json::find(value, "messages");
  return found ? json::serialize(*found) : "";
}
// A member of the canonical body, of one with `more`.
std::string member(std::string_view name, const std::string& more) {
  const auto value = canonical(body_of(kHello, more));
  const auto* found = json::find(value, name);
  return found ? json::serialize(*found) : "";
}
const MessageFacts& facts_of(const Canonical& asked) { return *static_cast<const MessageFacts*>(asked.facts.get()); }

TEST(ReadMessage, APlainOne) {
  const auto asked = read(body_of(kHello));
  EXPECT_EQ(asked.body,
            R"({"model":"m","messages":[{"role":"user","content":"hello"}],"enable_thinking":false,"max_tokens":5})");
  EXPECT_EQ(asked.about.model, "m");
  EXPECT_FALSE(asked.about.stream);
  EXPECT_EQ(facts_of(asked).max_tokens, 5u);
}

TEST(ReadMessage, AStreamAsksForAllCounts) {
  const auto asked = read(body_of(kHello, R"(,"stream":true)"));
  EXPECT_TRUE(asked.about.stream);
  EXPECT_THAT(asked.body, HasSubstr(R"("stream":true,"stream_options":{"include_usage":true,"prompt_usage":true})"));
}

TEST(ReadMessage, Sampling) {
  EXPECT_EQ(member("temperature", R"(,"temperature":0.5)"), "0.5");
  EXPECT_EQ(member("top_p", R"(,"top_p":0.9)"), "0.9");
  EXPECT_EQ(member("top_k", R"(,"top_k":40)"), "40");
  EXPECT_EQ(member("stop", R"(,"stop_sequences":["a","\n"])"), R"(["a","\n"])");
  EXPECT_EQ(member("max_tokens", ""), "5");
  EXPECT_EQ(member("ctx_size", R"(,"ctx_size":4096)"), "4096");
  EXPECT_EQ(member("user", R"(,"metadata":{"user_id":"me"},"service_tier":"auto","inference_geo":"eu")"), "");
}

TEST(ReadMessage, TheSystemPromptStandsFirst) {
  EXPECT_EQ(json::serialize(canonical(body_of(kHello, R"(,"system":"Be brief.")")).at("messages").at(0)),
            R"({"role":"system","content":"Be brief."})");
  const auto blocks =
      R"(,"system":[{"type":"text","text":"One."},{"type":"text","text":"Two.","cache_control":{"type":"ephemeral"}}])";
  EXPECT_EQ(json::serialize(canonical(body_of(kHello, blocks)).at("messages").at(0)),
            R"({"role":"system","content":"One.\nTwo."})");
  EXPECT_EQ(canonical(body_of(kHello, R"(,"system":"")")).at("messages").as_array().size(), 1u);
  EXPECT_EQ(canonical(R"({"max_tokens":1,"system":"One.","messages":[{"role":"system","content":"Two."},)"
                      R"({"role":"user","content":"a"}]})")
                .at("messages")
                .at(0)
                .at("content")
                .as_string(),
            "One.\nTwo.");
}

TEST(ReadMessage, WhatTheSystemSaysLaterIsSaidByTheUser) {
  EXPECT_EQ(messages(R"([{"role":"user","content":"a"},{"role":"system","content":"Now in French."},)"
                     R"({"role":"assistant","content":"b"},)"
                     R"({"role":"system","content":[{"type":"text","text":"In \"German\"."}]}])"),
            R"([{"role":"user","content":"a\n<system-reminder>\nNow in French.\n</system-reminder>"},)"
            R"({"role":"assistant","content":"b"},)"
            R"({"role":"user","content":"<system-reminder>\nIn \"German\".\n</system-reminder>"}])");
}

TEST(ReadMessage, TheSystemPromptStandsInFrontOfResultsToo) {
  EXPECT_EQ(
      json::serialize(canonical(body_of(R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}])",
                                        R"(,"system":"S")"))
                          .at("messages")),
      R"([{"role":"system","content":"S"},{"role":"tool","tool_call_id":"t","content":""}])");
}

// The system message of a request with this system prompt (a JSON string or array).
std::string system_text(const std::string& prompt) {
  const auto asked = canonical(body_of(kHello, R"(,"system":)" + prompt));
  const auto& first = asked.at("messages").at(0);
  return first.at("role").as_string() == "system" ? std::string(first.at("content").as_string()) : "(none)";
}

TEST(ReadMessage, OnlyTheLineForBillingIsNoPartOfThePrompt) {
  const std::string line = "x-anthropic-billing-header: cc_version=2.1.37.0d9; cc_entrypoint=cli; cch=00000;";
  EXPECT_EQ(system_text(R"([{"type":"text","text":")" + line + R"("},{"type":"text","text":"Two."}])"), "Two.");
  EXPECT_EQ(system_text(R"([{"type":"text","text":")" + line + R"(\nOne.\n\nTwo."}])"), "One.\n\nTwo.");
  EXPECT_EQ(system_text(R"([{"type":"text","text":"One.\n)" + line + R"(\r\nTwo. \u00e4\ud83d\ude00\n"}])"),
            "One.\nTwo. ä😀\n");
  EXPECT_EQ(system_text(R"([{"type":"text","text":"One.\n)" + line + R"("}])"), "One.\n");
  EXPECT_EQ(system_text("\"" + line + R"(\nOne.")"), "One.");
  EXPECT_EQ(system_text("\"" + line + "\""), "(none)");
  EXPECT_EQ(system_text(R"("x-anthropic-billing-header:abc\nOne.")"), "One.");
  EXPECT_EQ(messages(R"([{"role":"user","content":"a"},{"role":"system","content":")" + line + R"(\nBe brief."}])"),
            R"([{"role":"user","content":"a\n<system-reminder>\nBe brief.\n</system-reminder>"}])");
}

TEST(ReadMessage, WordsAboutTheLineForBillingStay) {
  for (const std::string text : {"Never write x-anthropic-billing-header: cch=1; yourself.",
                                 "x-anthropic-billing-header: what does this line mean?",
                                 " x-anthropic-billing-header: cch=1;", "X-Anthropic-Billing-Header: cch=1;"})
    EXPECT_EQ(system_text("\"" + text + "\""), text);
  const std::string content = R"("x-anthropic-billing-header: cch=1;\nWhat is this?")";
  EXPECT_EQ(messages(R"([{"role":"user","content":)" + content + "}]"),
            R"([{"role":"user","content":)" + content + "}]");
}

TEST(ReadMessage, BlocksOfTextAreOneTextAndTurnsOfOneRoleOneMessage) {
  EXPECT_EQ(messages(R"([{"role":"user","content":[{"type":"text","text":"a\u00e4"},{"type":"text","text":""},)"
                     R"({"type":"text","text":"\"b\""}]},{"role":"user","content":"c"}])"),
            R"([{"role":"user","content":"aä\n\"b\"\nc"}])");
  EXPECT_EQ(messages(R"([{"role":"user","content":[]}])"), R"([{"role":"user","content":""}])");
}

TEST(ReadMessage, CallsAndTheirResults) {
  EXPECT_EQ(
      messages(R"([{"role":"user","content":"Rain?"},{"role":"assistant","content":[{"type":"text","text":"I look."},)"
               R"({"type":"tool_use","id":"t1","name":"f","input":{"a": "x\"y"}},)"
               R"({"type":"tool_use","id":"t2","name":"g","input":{}}]},)"
               R"({"role":"user","content":[{"type":"text","text":"And?"},)"
               R"({"type":"tool_result","tool_use_id":"t1","content":"wet"},)"
               R"({"type":"tool_result","tool_use_id":"t2","is_error":true,)"
               R"("content":[{"type":"text","text":"no"},{"type":"text","text":"way"}]},)"
               R"({"type":"tool_result","tool_use_id":"t3"}]}])"),
      R"([{"role":"user","content":"Rain?"},{"role":"assistant","content":"I look.","tool_calls":[)"
      R"({"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\":\"x\\\"y\"}"}},)"
      R"({"id":"t2","type":"function","function":{"name":"g","arguments":"{}"}}]},)"
      R"({"role":"tool","tool_call_id":"t1","content":"wet"},)"
      R"({"role":"tool","tool_call_id":"t2","content":"Error: no\nway"},)"
      R"({"role":"tool","tool_call_id":"t3","content":""},{"role":"user","content":"And?"}])");
}

TEST(ReadMessage, ThoughtsGoBackBesideTheText) {
  EXPECT_EQ(messages(R"([{"role":"user","content":"a"},{"role":"assistant","content":[)"
                     R"({"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"},)"
                     R"({"type":"text","text":"b"}]},{"role":"user","content":"c"}])"),
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning_content":"hm"},)"
            R"({"role":"user","content":"c"}])");
}

TEST(ReadMessage, ABegunAnswerIsGoneOnWith) {
  const auto asked = read(body_of(R"([{"role":"user","content":"a"},{"role":"assistant","content":"One\n"}])"));
  EXPECT_THAT(asked.body, HasSubstr(R"("continue_final_message":true)"));
  EXPECT_EQ(asked.begun.content, "One\n");
  const auto nothing = read(body_of(R"([{"role":"user","content":"a"},{"role":"assistant","content":[]}])"));
  EXPECT_THAT(nothing.body, HasSubstr(R"("messages":[{"role":"user","content":"a"}])"));
}

TEST(ReadMessage, ImagesAndDocuments) {
  EXPECT_EQ(messages(R"([{"role":"user","content":[{"type":"text","text":"See"},)"
                     R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},)"
                     R"({"type":"image","source":{"type":"url","url":"http://x/y.png"}}]}])"),
            R"([{"role":"user","content":[{"type":"text","text":"See"},)"
            R"({"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},)"
            R"({"type":"image_url","image_url":{"url":"http://x/y.png"}}]}])");
  EXPECT_EQ(messages(R"([{"role":"user","content":[{"type":"document","title":"T","context":"C",)"
                     R"("source":{"type":"text","media_type":"text/plain","data":"D"}},)"
                     R"({"type":"document","source":{"type":"content","content":[{"type":"text","text":"E"}]}},)"
                     R"({"type":"search_result","source":"S","title":"F","content":[{"type":"text","text":"G"}]}]}])"),
            R"([{"role":"user","content":"T\nC\nD\nE\nS\nF\nG"}])");
  EXPECT_EQ(messages(R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":)"
                     R"([{"type":"image","source":{"type":"base64","media_type":"image/png","data":"/9j/4A"}}]}]}])"),
            R"([{"role":"tool","tool_call_id":"t","content":[{"type":"text","text":"Error: "},)"
            R"({"type":"image_url","image_url":{"url":"data:image/png;base64,/9j/4A"}}]}])");
}

TEST(ReadMessage, BlocksOfWhatRunsAtAnthropicAreLeftOut) {
  for (const std::string type : {"tool_addition", "tool_removal", "mcp_tool_listing", "fallback", "compaction"}) {
    EXPECT_EQ(messages(R"([{"role":"user","content":[{"type":")" + type + R"("},{"type":"text","text":"a"}]}])"),
              R"([{"role":"user","content":"a"}])");
  }
  EXPECT_EQ(messages(R"([{"role":"user","content":"a"},{"role":"system","content":[{"type":"tool_addition"}]}])"),
            R"([{"role":"user","content":"a"}])");
}

TEST(ReadMessage, WhatAnthropicsOwnToolsLeftIsLeftOut) {
  EXPECT_EQ(messages(R"([{"role":"user","content":"a"},{"role":"assistant","content":[)"
                     R"({"type":"server_tool_use","id":"s","name":"web_search","input":{}},)"
                     R"({"type":"web_search_tool_result","tool_use_id":"s","content":{"any":"thing"}},)"
                     R"({"type":"text","text":"b"}]},{"role":"user","content":"c"}])"),
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}])");
}

const std::string kTools =
    R"(,"tools":[{"name":"f","description":"d","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},)"
    R"({"type":"web_search_20250305","name":"web_search","max_uses":3},)"
    R"({"type":"custom","name":"g","input_schema":{"type":"object","properties":{}},"strict":true}])";

TEST(ReadMessage, ToolsThatTheClientRuns) {
  EXPECT_EQ(
      member("tools", kTools),
      R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}},)"
      R"({"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}},"strict":true}}])");
  EXPECT_EQ(member("tools", R"(,"tools":[{"type":"bash_20250124","name":"bash"}])"), "");
}

TEST(ReadMessage, ChoicesOfTools) {
  const auto choice = [](const std::string& chosen) { return kTools + R"(,"tool_choice":)" + chosen; };
  EXPECT_EQ(member("tool_choice", choice(R"({"type":"auto"})")), R"("auto")");
  EXPECT_EQ(member("tool_choice", choice(R"({"type":"any"})")), R"("required")");
  EXPECT_EQ(member("tool_choice", choice(R"({"type":"none"})")), R"("none")");
  EXPECT_EQ(member("tool_choice", choice(R"({"type":"tool","name":"g"})")),
            R"({"type":"function","function":{"name":"g"}})");
  EXPECT_EQ(member("parallel_tool_calls", choice(R"({"type":"auto","disable_parallel_tool_use":true})")), "false");
  EXPECT_EQ(member("parallel_tool_calls", choice(R"({"type":"auto"})")), "");
  EXPECT_EQ(member("tool_choice", R"(,"tool_choice":{"type":"auto"})"), "") << "there is nothing to choose from";
}

TEST(ReadMessage, Thinking) {
  EXPECT_EQ(member("enable_thinking", ""), "false") << "who doesn't ask for thoughts gets none";
  EXPECT_EQ(member("enable_thinking", R"(,"thinking":{"type":"enabled","budget_tokens":1024})"), "true");
  EXPECT_EQ(member("enable_thinking", R"(,"thinking":{"type":"adaptive"})"), "true");
  EXPECT_EQ(member("enable_thinking", R"(,"thinking":{"type":"disabled"})"), "false");
  EXPECT_FALSE(facts_of(read(body_of(kHello))).thoughts);
  const auto bare = read(body_of(kHello, R"(,"thinking":{"type":"adaptive","display":"omitted"})"));
  EXPECT_TRUE(facts_of(bare).thoughts);
  EXPECT_TRUE(facts_of(bare).bare_thoughts);
}

TEST(ReadMessage, OutputOfAFormAndAnEffort) {
  const std::string format = R"({"type":"json_schema","schema":{"type":"object"}})";
  const auto wanted = R"({"type":"json_schema","json_schema":{"schema":{"type":"object"}}})";
  EXPECT_EQ(member("response_format", R"(,"output_config":{"effort":"low","format":)" + format + "}"), wanted);
  EXPECT_EQ(member("response_format", R"(,"output_format":)" + format), wanted);
  EXPECT_EQ(member("reasoning_effort", R"(,"output_config":{"effort":"low"})"), R"("low")");
  EXPECT_EQ(member("reasoning_effort", R"(,"output_config":{"effort":"max"})"), R"("high")");
}

TEST(ReadMessage, NullMeansNotGiven) {
  EXPECT_EQ(member("tools", R"(,"system":null,"tools":null,"tool_choice":null,"thinking":null,"stop_sequences":null)"),
            "");
}

TEST(ReadMessage, WhatIsRefusedNamesTheField) {
  struct Case {
    std::string body;
    std::string_view param;
    std::string_view message;
  };
  const auto blocks = [](const std::string& role, const std::string& inside) {
    return body_of(R"([{"role":")" + role + R"(","content":[)" + inside + "]}]");
  };
  const std::vector<Case> cases = {
      {"{", "", "not valid JSON"},
      {"[]", "", "must be a JSON object"},
      {R"({"model":"m","max_tokens":5})", "messages", "required"},
      {R"({"model":"m","messages":)" + kHello + "}", "max_tokens", "required"},
      {body_of(kHello, R"(,"max_tokens":"9")"), "max_tokens", "integer"},
      {body_of(kHello, R"(,"temperature":"hot")"), "temperature", "between 0 and 2"},
      {body_of(kHello, R"(,"stop_sequences":"x")"), "stop_sequences", "array"},
      {body_of(kHello, R"(,"system":7)"), "system", "string"},
      {body_of(kHello, R"(,"system":[{"type":"image"}])"), "system[0].type", "a system prompt"},
      {body_of(kHello, R"(,"thinking":{"type":"on"})"), "thinking.type", "enabled"},
      {body_of(kHello, R"(,"metadata":{"user_id":1})"), "metadata.user_id", "string"},
      {body_of("[]"), "messages", "empty"},
      {body_of(R"("hello")"), "messages", "array"},
      {body_of(R"([7])"), "messages[0]", "objects"},
      {body_of(R"([{"role":"tool","content":"x"}])"), "messages[0].role", "user"},
      {body_of(R"([{"role":"user"}])"), "messages[0].content", "required"},
      {body_of(R"([{"role":"user","content":{}}])"), "messages[0].content", "array"},
      {blocks("user", "7"), "messages[0].content[0]", "objects"},
      {blocks("user", "{}"), "messages[0].content[0].type", "required"},
      {blocks("user", R"({"type":7})"), "messages[0].content[0].type", "string"},
      {blocks("user", R"({"type":"smell"})"), "messages[0].content[0].type", "\"smell\""},
      {blocks("user", R"({"type":"text"})"), "messages[0].content[0].text", "required"},
      {blocks("user", R"({"type":"tool_use","id":"a","name":"f","input":{}})"), "messages[0].content[0].type",
       "a message of the user"},
      {blocks("assistant", R"({"type":"tool_use","id":"a","name":"f","input":"{}"})"), "messages[0].content[0].input",
       "object"},
      {blocks("user", R"({"type":"tool_result","content":"x"})"), "messages[0].content[0].tool_use_id", "required"},
      {blocks("user", R"({"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_result"}]})"),
       "messages[0].content[0].content[0].type", "the result of a tool"},
      {blocks("user", R"({"type":"image","source":{"type":"base64","data":"x"}})"),
       "messages[0].content[0].source.media_type", "required"},
      {blocks("user", R"({"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"Qk0="}})"),
       "messages[0].content[0].source.media_type", "only PNG, JPEG, WebP and GIF are supported"},
      {blocks("user", R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}})"),
       "messages[0].content[0].source.data", "its data begins with \"QUJD\""},
      {blocks("user", R"({"type":"image","source":{"type":"url","url":"file:///etc/passwd"}})"),
       "messages[0].content[0].source.url", "must be a data URL in base64"},
      {blocks("user", R"({"type":"image","source":{"type":"file","file_id":"x"}})"),
       "messages[0].content[0].source.type", "files are not stored"},
      {blocks("user", R"({"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"x"}})"),
       "messages[0].content[0].source.type", "send the text"},
      {body_of(kHello, R"(,"tools":[{"name":"f"}])"), "tools[0].input_schema", "required"},
      {body_of(kHello, R"(,"tools":[{"name":"f","input_schema":{"$ref":")" + std::string(300, 'x') + "\"}}]"),
       "tools[0].input_schema", "$ref"},
      {body_of(kHello, R"(,"tools":[{"type":1}])"), "tools[0].type", "string"},
      {body_of(kHello, R"(,"tool_choice":"auto")"), "tool_choice", "object"},
      {body_of(kHello, R"(,"tool_choice":{"type":"some"})"), "tool_choice.type", "any"},
      {body_of(kHello, R"(,"tool_choice":{"type":"any"})"), "tool_choice", "no usable tool"},
      {body_of(kHello, kTools + R"(,"tool_choice":{"type":"tool"})"), "tool_choice.name", "required"},
      {body_of(kHello, kTools + R"(,"tool_choice":{"type":"tool","name":"web_search"})"), "tool_choice.name",
       "web_search"},
      {body_of(kHello, R"(,"output_config":{"format":{"type":"xml"}})"), "output_config.format.type", "json_schema"},
      {body_of(R"([{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}])"), "messages",
       "tool calls"},
      {body_of(R"([{"role":"assistant","content":[{"type":"server_tool_use"}]}])"), "messages", "empty"},
  };
  for (const auto& [body, param, message] : cases) {
    const auto asked = read_message(body);
    ASSERT_FALSE(asked) << body;
    EXPECT_EQ(asked.error().param, param) << asked.error().message;
    EXPECT_THAT(asked.error().message, HasSubstr(message));
    EXPECT_EQ(kind_of(asked.error().code), ErrorKind::invalid_request);
  }
}

// The worst that a body may try: all ends at once, with what there is too much of.
TEST(ReadMessage, HostileBodiesAreRefusedForWhatTheyAre) {
  const auto repeated = [](const std::string& one, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += one + ",";
    all.pop_back();
    return all;
  };
  const auto refusal = [](const std::string& body) {
    const auto asked = read_message(body);
    return asked ? "taken" : asked.error().param + ": " + asked.error().message;
  };
  const std::string text = R"({"type":"text","text":""})";
  EXPECT_THAT(refusal(body_of(R"([{"role":"user","content":[)" + repeated(text, 1025) + "]}]")),
              HasSubstr("messages[0].content: 'messages[0].content' has 1025 elements"));
  EXPECT_THAT(refusal(body_of("[" + repeated(R"({"role":"user","content":"x"})", 4097) + "]")), HasSubstr("4097"));
  const auto turn = R"({"role":"user","content":[)" + repeated(text, 1000) + "]}";
  EXPECT_THAT(refusal(body_of("[" + repeated(turn, 40) + "]")), HasSubstr("JSON values"));
  EXPECT_THAT(refusal(body_of(R"([{"role":"user","content":[{"type":"text","text":)" + std::string(300, '[') +
                              std::string(300, ']') + "}]}]")),
              HasSubstr("JSON"));
  const auto results = R"({"role":"user","content":[)" +
                       repeated(R"({"type":"tool_result","tool_use_id":"t","content":"x"})", 1000) + "]}";
  EXPECT_THAT(refusal(body_of("[" + repeated(results, 5) + "]")), HasSubstr("messages"))
      << "each result is a message of its own";
  const auto call = R"({"type":"tool_use","id":"t","name":"f","input":{"x":")" + std::string(60'000, 'x') + "\"}}";
  EXPECT_THAT(refusal(body_of(R"([{"role":"assistant","content":[)" + repeated(call, 100) + "]},{\"role\":\"user\"," +
                              R"("content":"x"}])")),
              HasSubstr("beside the 'content'"));
  EXPECT_THAT(refusal(body_of(kHello, R"(,"tools":[)" +
                                          repeated(R"({"name":"f","input_schema":{"type":"object"},"description":")" +
                                                       std::string(10'000, 'x') + "\"}",
                                                   60) +
                                          "]")),
              HasSubstr("tools: "));
}

TEST(ReadMessage, OfTwoFieldsOfOneNameTheLastCounts) {
  EXPECT_FALSE(read_message(body_of(kHello, R"(,"messages":null)")));
  EXPECT_FALSE(read_message(body_of(R"([{"role":"user","content":[{"type":"text","text":"a","type":"image"}]}])")));
  EXPECT_TRUE(
      read_message(body_of(R"([{"role":"assistant","content":[{"type":"thinking","thinking":"a","thinking":null},)"
                           R"({"type":"text","text":"a","text":null}]},{"role":"user","content":"x"}])")));
}

TEST(ReadCount, TakesThePromptAndNothingElse) {
  const auto asked = read_count(R"({"model":"m","system":"S","messages":)" + kHello + kTools + "}");
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_THAT(asked->body, testing::StartsWith(R"({"model":"m","messages":[{"role":"system","content":"S"},)"));
  EXPECT_THAT(asked->body, HasSubstr(R"("tools":[)"));
  EXPECT_THAT(asked->body, testing::Not(HasSubstr("max_tokens")));
  EXPECT_EQ(read_count(R"({"model":"m"})").error().param, "messages");
}

}  // namespace
}  // namespace corral::dialects::anthropic
