// Bodies of Ollama's API as canonical requests: each field, what is refused and under which name.
#include "dialects/ollama/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialects/ollama/canonical.h"
#include "dialects/ollama/conversation.h"
#include "json/value.h"
#include "protocol/requests.h"

namespace corral::dialects::ollama {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

// `members` and a message, as a chat; what the engine would read of it.
std::string chat_body(const std::string& members) {
  return R"({"model":"m","messages":[{"role":"user","content":"hi"}])" + (members.empty() ? "" : "," + members) + "}";
}
Canonical good(Result<Canonical> read) {
  EXPECT_TRUE(read) << read.error().message;
  return read ? std::move(*read) : Canonical();
}
std::string conversation_of(const Canonical& asked) {
  const auto* text = static_cast<const std::string*>(asked.facts.get());
  return text != nullptr ? *text : std::string();
}
Canonical chat(const std::string& members) { return good(read_chat(chat_body(members))); }
protocol::ChatRequest engine_reads(const Canonical& asked) {
  auto read = protocol::parse_chat_request(asked.body);
  EXPECT_TRUE(read) << read.error().message << asked.body;
  return read ? std::move(*read) : protocol::ChatRequest();
}

TEST(OllamaChat, StreamsUnlessToldNotTo) {
  const auto asked = chat("");
  EXPECT_TRUE(asked.about.stream);
  EXPECT_EQ(asked.about.model, "m");
  EXPECT_EQ(asked.body, R"({"model":"m","stream":true,"stream_options":{"include_usage":true},)"
                        R"("messages":[{"role":"user","content":"hi"}]})");
  EXPECT_FALSE(chat(R"("stream":false)").about.stream);
  EXPECT_TRUE(chat(R"("stream":null)").about.stream);
}

TEST(OllamaChat, LogProbabilitiesAreAskedForInTheWordsOfTheEndpoint) {
  const auto read = engine_reads(chat(R"("logprobs":true,"top_logprobs":3)"));
  EXPECT_TRUE(read.logprobs);
  EXPECT_EQ(read.n_probs, 3u);
  EXPECT_FALSE(engine_reads(chat(R"("logprobs":false)")).logprobs);
  const auto without = read_chat(chat_body(R"("top_logprobs":3)"));
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().param, "top_logprobs");
  EXPECT_FALSE(read_chat(chat_body(R"("logprobs":true,"top_logprobs":21)")));
  const auto raw = good(read_generate(R"({"model":"m","prompt":"x","raw":true,"logprobs":true})"));
  EXPECT_THAT(raw.body, HasSubstr(R"("n_probs":1)"));
}

TEST(OllamaChat, ATemperatureBeyondWhatIsTakenIsTheNearest) {
  const auto temperature = [](const std::string& text) {
    return *engine_reads(chat(R"("options":{"temperature":)" + text + "}")).sampling.temperature;
  };
  EXPECT_FLOAT_EQ(temperature("2.5"), 2);
  EXPECT_FLOAT_EQ(temperature("-1"), 0);
}

TEST(OllamaChat, OptionsHaveTheirCanonicalNames) {
  const auto asked = chat(
      R"("options":{"num_predict":7,"temperature":0.5,"top_k":40.0,"top_p":0.9,"min_p":0.1,"typical_p":0.8,"seed":3,)"
      R"("repeat_last_n":64,"repeat_penalty":1.1,"presence_penalty":0.2,"frequency_penalty":0.3,"stop":["a","b"],)"
      R"("num_ctx":4096,"num_gpu":99,"num_thread":4,"mirostat":2,"mirostat_tau":5,"mirostat_eta":0.1,"num_keep":5})");
  const auto read = engine_reads(asked);
  EXPECT_EQ(read.max_tokens, 7u);
  EXPECT_FLOAT_EQ(*read.sampling.temperature, 0.5f);
  EXPECT_EQ(read.sampling.top_k, 40);
  EXPECT_FLOAT_EQ(*read.sampling.top_p, 0.9f);
  EXPECT_FLOAT_EQ(*read.sampling.min_p, 0.1f);
  EXPECT_FLOAT_EQ(*read.sampling.typical_p, 0.8f);
  EXPECT_EQ(read.sampling.seed, 3u);
  EXPECT_EQ(read.sampling.repeat_last_n, 64);
  EXPECT_FLOAT_EQ(*read.sampling.repeat_penalty, 1.1f);
  EXPECT_FLOAT_EQ(*read.sampling.presence_penalty, 0.2f);
  EXPECT_FLOAT_EQ(*read.sampling.frequency_penalty, 0.3f);
  EXPECT_EQ(read.sampling.mirostat, 2);
  EXPECT_THAT(read.stop, testing::ElementsAre("a", "b"));
  EXPECT_EQ(asked.about.context, 4096u);
  EXPECT_TRUE(asked.modest_context);
  EXPECT_EQ(engine_reads(chat(R"("options":{"stop":"x"})")).stop.front(), "x");
  for (const auto* endless : {"-1", "-2", "0"}) {
    EXPECT_FALSE(engine_reads(chat(R"("options":{"num_predict":)" + std::string(endless) + "}")).max_tokens) << endless;
  }
}

TEST(OllamaChat, FormatIsASchemaOrJson) {
  EXPECT_EQ(engine_reads(chat(R"("format":"json")")).json_schema.text, R"({"type":"object"})");
  EXPECT_EQ(engine_reads(chat(R"("format":{"type":"array","items":{"type":"string"}})")).json_schema.text,
            R"({"type":"array","items":{"type":"string"}})");
  EXPECT_EQ(engine_reads(chat(R"("format":"")")).json_schema.text, "");
}

TEST(OllamaChat, Thinking) {
  EXPECT_EQ(engine_reads(chat("")).enable_thinking, std::nullopt);
  EXPECT_EQ(engine_reads(chat(R"("think":false)")).enable_thinking, false);
  EXPECT_EQ(engine_reads(chat(R"("think":true)")).enable_thinking, true);
  const auto high = engine_reads(chat(R"("think":"high")"));
  EXPECT_EQ(high.enable_thinking, true);
  EXPECT_EQ(high.reasoning_effort, "high");
}

TEST(OllamaChat, CallsGetIdsAndTextsAsArguments) {
  const auto asked = good(
      read_chat(R"({"model":"m","messages":[{"role":"user","content":"x"},)"
                R"({"role":"assistant","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"a": 1}}},)"
                R"({"function":{"name":"g"}}]},)"
                R"({"role":"tool","tool_name":"g","content":"2"},{"role":"tool","content":"1"}]})"));
  EXPECT_THAT(asked.body,
              HasSubstr(R"({"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[)"
                        R"({"id":"call_0","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},)"
                        R"({"id":"call_1","type":"function","function":{"name":"g","arguments":"{}"}}]},)"
                        R"({"role":"tool","content":"2","tool_call_id":"call_1","name":"g"},)"
                        R"({"role":"tool","content":"1","tool_call_id":"call_0"}]})"));
}

TEST(OllamaChat, ABegunAnswerIsGoneOnWith) {
  const auto asked = good(read_chat(R"({"model":"m","messages":[{"role":"user","content":"x"},)"
                                    R"({"role":"assistant","content":"One","thinking":"hm"}]})"));
  EXPECT_THAT(asked.body, HasSubstr(R"("continue_final_message":true)"));
  EXPECT_EQ(asked.begun.content, "One");
  EXPECT_EQ(asked.begun.thoughts, "hm");
  for (const auto* last : {R"({"role":"assistant","content":""})", R"({"role":"user","content":"x"})"}) {
    const auto other = good(read_chat(R"({"messages":[{"role":"user","content":"x"},)" + std::string(last) + "]}"));
    EXPECT_THAT(other.body, Not(HasSubstr("continue_final_message")));
    EXPECT_FALSE(other.begun.any());
  }
}

TEST(OllamaChat, ToolsPassAsTheyAre) {
  const auto* tools = R"([{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])";
  EXPECT_EQ(engine_reads(chat(R"("tools":)" + std::string(tools))).tools, tools);
  EXPECT_EQ(engine_reads(chat(R"("tools":[])")).tools, "");
}

TEST(OllamaChat, PicturesBecomeParts) {
  const auto asked = good(
      read_chat(R"({"model":"m","messages":[{"role":"user","content":"see","images":["iVBORw0KGgo=","/9j/4A=="]}]})"));
  EXPECT_THAT(asked.body, HasSubstr(R"("content":[{"type":"text","text":"see"},)"
                                    R"({"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},)"
                                    R"({"type":"image_url","image_url":{"url":"data:image/jpeg;base64,/9j/4A=="}}])"));
  EXPECT_TRUE(engine_reads(asked).has_media);
  EXPECT_EQ(asked.about.media.pictures, 2u);
  const auto generate =
      good(read_generate(R"({"model":"m","prompt":"see","images":["data:image/gif;base64,R0lGODlh"]})"));
  EXPECT_THAT(generate.body, HasSubstr(R"({"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlh"}})"));
  EXPECT_EQ(generate.about.media.pictures, 1u);
}

TEST(OllamaChat, KeepAlive) {
  const auto kept = [](const std::string& value) { return chat(R"("keep_alive":)" + value).keep; };
  EXPECT_EQ(chat("").keep, std::nullopt);
  EXPECT_EQ(kept("null"), std::nullopt);
  EXPECT_EQ(kept("0"), 0ms);
  EXPECT_EQ(kept("-1"), -1ms);
  EXPECT_EQ(kept("90"), 90s);
  EXPECT_EQ(kept("1.5"), 1500ms);
  EXPECT_EQ(kept(R"("5m")"), 5min);
  EXPECT_EQ(kept(R"("1h30m")"), 90min);
  EXPECT_EQ(kept(R"("300ms")"), 300ms);
  EXPECT_EQ(kept(R"("1ns")"), 1ms) << "is not at once";
  EXPECT_EQ(kept(R"("-1m")"), -1ms);
  EXPECT_EQ(kept(R"("-1")"), -1ms);
  EXPECT_EQ(kept(R"("300")"), 300s);
  EXPECT_EQ(kept(R"("0s")"), 0ms);
  EXPECT_EQ(kept("1e300"), kept("1e18"));
  for (const auto* bad :
       {R"("")", R"("5 minutes")", R"("m")", R"("5x")", R"("1h-5m")", R"("1m5")", R"("nan")", R"("inf")"}) {
    const auto refused = read_chat(chat_body(R"("keep_alive":)" + std::string(bad)));
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().param, "keep_alive");
    EXPECT_THAT(refused.error().message, StartsWith("'keep_alive' must be "));
  }
}

TEST(OllamaChat, WithoutMessagesOnlyTheModelIsMeant) {
  for (const auto* body : {R"({"model":"m"})", R"({"model":"m","messages":[],"keep_alive":"1m"})"}) {
    const auto asked = good(read_chat(body));
    EXPECT_TRUE(asked.only_keeps);
    EXPECT_EQ(asked.about.model, "m");
  }
  EXPECT_EQ(good(read_generate(R"({"model":"m","keep_alive":0})")).keep, 0ms);
  EXPECT_TRUE(good(read_generate(R"({"model":"m","prompt":""})")).only_keeps);
  EXPECT_TRUE(good(read_embed(R"({"model":"m","input":[]})")).only_keeps);
  EXPECT_TRUE(good(read_embed(R"({"model":"m","input":""})")).only_keeps);
  EXPECT_TRUE(good(read_old_embedding(R"({"model":"m"})")).only_keeps);
}

TEST(OllamaBodies, WhatIsWrongIsCalledAsTheClientKnowsIt) {
  struct Case {
    std::string members, param;
  };
  for (const auto& [members, param] : {
           Case{R"("options":{"temperature":"hot"})", "options.temperature"},
           Case{R"("options":{"top_p":2})", "options.top_p"},
           Case{R"("options":{"num_ctx":-5})", "options.num_ctx"},
           Case{R"("options":{"stop":[1]})", "options.stop[0]"},
           Case{R"("options":{"num_predict":"x"})", "options.num_predict"},
           Case{R"("options":[])", "options"},
           Case{R"("format":"yaml")", "format"},
           Case{R"("format":3)", "format"},
           Case{R"("think":"much")", "think"},
           Case{R"("think":[])", "think"},
           Case{R"("tools":{})", "tools"},
           Case{R"("tools":[{"type":"function"}])", "tools[0].function"},
           Case{R"("stream":"yes")", "stream"},
           Case{R"("keep_alive":{})", "keep_alive"},
           Case{R"("model":7)", "model"},
           Case{R"("messages":"hi")", "messages"},
           Case{R"("messages":[{"content":"x"}])", "messages[0].role"},
           Case{R"("messages":[{"role":"user","content":["x"]}])", "messages[0].content"},
           Case{R"("messages":[{"role":"user","content":"x","images":"y"}])", "messages[0].images"},
           Case{R"("messages":[{"role":"user","content":"x","images":["/9j/4A==","QUJD"]}])", "messages[0].images[1]"},
           Case{R"("messages":[{"role":"user","content":"x","images":["http://x/y.png"]}])", "messages[0].images[0]"},
           Case{R"("messages":[{"role":"user","content":"x","images":["data:image/png,x"]}])", "messages[0].images[0]"},
           Case{R"("messages":[{"role":"assistant","tool_calls":[{}]}])", "messages[0].tool_calls[0].function"},
           Case{R"("messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}])",
                "messages[0].tool_calls[0].function.arguments"},
       }) {
    const auto refused = read_chat(chat_body(members));
    ASSERT_FALSE(refused) << members;
    EXPECT_EQ(refused.error().param, param) << refused.error().message;
    EXPECT_THAT(refused.error().message, HasSubstr("'" + param + "'")) << members;
    EXPECT_EQ(kind_of(refused.error().code), ErrorKind::invalid_request);
  }
  EXPECT_EQ(own_name("response_format.json_schema.schema.properties.a", {}), "format.properties.a");
  EXPECT_EQ(own_name("max_tokens", {}), "options.num_predict");
  EXPECT_EQ(own_name("stopper", {}), "stopper");
  EXPECT_FALSE(read_chat("{"));
  EXPECT_FALSE(read_chat("3"));
}

TEST(OllamaBodies, ManyCallsAndMessagesCostNoMoreThanTheirLimits) {
  std::string calls, messages;
  for (int i = 0; i < 300; ++i) calls += R"({"function":{"name":"f"}},)";
  calls.pop_back();
  auto refused = read_chat(R"({"messages":[{"role":"assistant","tool_calls":[)" + calls + "]}]}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "messages[0].tool_calls");
  for (int i = 0; i < 5000; ++i) messages += R"({"role":"tool","content":""},)";
  messages.pop_back();
  refused = read_chat(R"({"messages":[)" + messages + "]}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "messages");
}

// ---- generate

TEST(OllamaGenerate, APromptIsTheOneMessageOfAChat) {
  const auto asked = good(read_generate(R"({"model":"m","prompt":"why?","system":"be brief","stream":false})"));
  EXPECT_EQ(asked.ask, std::nullopt);
  EXPECT_EQ(asked.body, R"({"model":"m","stream":false,"messages":[{"role":"system","content":"be brief"},)"
                        R"({"role":"user","content":"why?"}]})");
  EXPECT_EQ(conversation_of(asked), R"({"role":"user","content":"why?"})");
}

TEST(OllamaGenerate, RawGoesPastTheTemplate) {
  const auto asked = good(read_generate(R"({"model":"m","prompt":"Once","raw":true,"options":{"num_predict":3}})"));
  EXPECT_EQ(asked.ask, protocol::Ask::completion);
  const auto read = protocol::parse_completion_request(asked.body);
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<std::string>(read->prompts.front()), "Once");
  EXPECT_EQ(read->max_tokens, 3u);
  EXPECT_EQ(conversation_of(asked), "") << "no context: nobody knows who said what";
  for (const auto* beside : {"system", "template"}) {
    const auto refused = read_generate(R"({"prompt":"x","raw":true,")" + std::string(beside) + R"(":"y"})");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().param, beside);
  }
  EXPECT_EQ(read_generate(R"({"prompt":"x","raw":true,"images":["iVBORw0KGgo="]})").error().param, "images");
}

TEST(OllamaGenerate, ASuffixMakesAGap) {
  const auto asked = good(read_generate(R"({"model":"m","prompt":"def f(","suffix":"return 1"})"));
  EXPECT_EQ(asked.ask, protocol::Ask::completion);
  const auto read = protocol::parse_completion_request(asked.body);
  ASSERT_TRUE(read && read->infill);
  EXPECT_EQ(read->infill->prefix, protocol::Input("def f("));
  EXPECT_EQ(read->infill->suffix, protocol::Input("return 1"));
}

TEST(OllamaGenerate, APlainTemplateIsFilled) {
  const auto asked = good(read_generate(
      R"({"model":"m","prompt":"hi","system":"s","template":"{{ .System }} U: {{.Prompt}} A: {{ .Response }} end"})"));
  EXPECT_EQ(asked.ask, protocol::Ask::completion);
  EXPECT_THAT(asked.body, HasSubstr(R"("prompt":"s U: hi A: ")"));
  for (const auto* bad : {"{{ if .System }}x{{ end }}", "{{", "{{ .Prompt", "{{ .Messages }}"}) {
    const auto refused = read_generate(R"({"prompt":"hi","template":")" + std::string(bad) + "\"}");
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().param, "template");
  }
}

TEST(OllamaGenerate, ATemplateMakesNoPromptThatIsLongerThanItsBody) {
  std::string prompt, names;
  for (int i = 0; i < 3000; ++i) prompt += "\\u0001", names += "{{.Prompt}}";
  const auto body = [&](const std::string& text) {
    return R"({"prompt":")" + prompt + R"(","system":")" + prompt + R"(","template":")" + text + "\"}";
  };
  for (const auto& twice : {names, std::string("{{.System}} {{ .Prompt }} {{.System}}")}) {
    const auto refused = read_generate(body(twice));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().param, "template");
    EXPECT_THAT(refused.error().message, HasSubstr("twice"));
  }
  const auto once = body("{{.System}} {{.Prompt}}");
  EXPECT_LE(good(read_generate(once)).body.size(), once.size() + 100);
}

TEST(OllamaGenerate, AContextIsTheConversation) {
  std::string context;
  json::Writer out(context);
  write_context(out, message("user", "one \"ü\"") + "," + message("assistant", "two"));
  const auto asked = good(read_generate(R"({"model":"m","prompt":"three","context":)" + context + "}"));
  EXPECT_THAT(asked.body, HasSubstr(R"("messages":[{"role":"user","content":"one \"ü\""},)"
                                    R"({"role":"assistant","content":"two"},{"role":"user","content":"three"}]})"));
  EXPECT_THAT(conversation_of(asked), HasSubstr(R"("two"},{"role":"user","content":"three"})"));
  EXPECT_TRUE(read_generate(R"({"prompt":"x","context":[]})"));
}

TEST(OllamaGenerate, AContextOfSomebodyElseIsRefused) {
  for (const std::string bad : {"[1,2,3]", "[1668248178]", "[1668248178,99999999]", "[1668248178,-1]", "[1668248178,0]",
                                "[1668248178,6060893]" /* [{] */}) {
    const auto refused = read_generate(R"({"prompt":"x","context":)" + bad + "}");
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().param, "context");
  }
  std::string system;
  json::Writer out(system);
  write_context(out, message("system", "obey"));
  EXPECT_FALSE(read_generate(R"({"prompt":"x","context":)" + system + "}"));
}

// ---- embed

TEST(OllamaEmbed, InputsPass) {
  auto asked = good(read_embed(R"({"model":"e","input":["a","b"],"truncate":true,"dimensions":4})"));
  EXPECT_EQ(asked.body, R"({"model":"e","dimensions":4,"truncate":true,"input":["a","b"]})");
  EXPECT_FALSE(asked.about.stream);
  asked = good(read_embed(R"({"model":"e","input":"a"})"));
  EXPECT_EQ(asked.body, R"({"model":"e","truncate":true,"input":"a"})") << "as it is there";
  asked = good(read_embed(R"({"model":"e","input":"a","truncate":false})"));
  EXPECT_EQ(asked.body, R"({"model":"e","input":"a"})");
  asked = good(read_old_embedding(R"({"model":"e","prompt":"a"})"));
  EXPECT_EQ(asked.body, R"({"model":"e","embd_normalize":-1,"input":"a"})");
  EXPECT_EQ(read_embed(R"({"input":[1,2]})").error().param, "input[0]");
  EXPECT_EQ(read_embed(R"({"input":["a",""]})").error().param, "input[1]");
}

}  // namespace
}  // namespace corral::dialects::ollama
