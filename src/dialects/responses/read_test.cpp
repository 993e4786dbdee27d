// Bodies of the Responses API as canonical requests, and what is refused in the client's own words.
#include "dialects/responses/read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value.h"
#include "json/writer.h"
#include "protocol/errors.h"

namespace corral::dialects::responses {
namespace {

using testing::HasSubstr;

std::string read(const std::string& members) {
  const auto asked = read_response(R"({"model":"m",)" + members + "}");
  EXPECT_TRUE(asked) << (asked ? "" : asked.error().message);
  return asked ? asked->body : "";
}

// The messages that an input comes to.
std::string messages(const std::string& members) {
  const auto body = json::parse(read(members));
  return body ? json::serialize(*json::find(*body, "messages")) : "";
}

Error refused(const std::string& members) {
  const auto asked = read_response("{" + members + "}");
  EXPECT_FALSE(asked);
  return asked ? Error({}, "") : asked.error();
}

TEST(ReadResponse, ATextIsWhatTheUserSays) {
  EXPECT_EQ(read(R"("input":"Hi \"you\"")"), R"({"model":"m","messages":[{"role":"user","content":"Hi \"you\""}]})");
}

TEST(ReadResponse, InstructionsAndWhatStandsInFrontAreOneSystemMessage) {
  EXPECT_EQ(messages(R"("instructions":"Be kind.","input":[
    {"type":"message","role":"developer","content":[{"type":"input_text","text":"Be brief."}]},
    {"role":"user","content":"Hi"},{"role":"developer","content":"Now loud."}])"),
            R"([{"role":"system","content":"Be kind.\nBe brief."},)"
            R"({"role":"user","content":"Hi\n<system-reminder>\nNow loud.\n</system-reminder>"}])");
}

TEST(ReadResponse, NobodySpeaksTwiceInARow) {
  EXPECT_EQ(messages(R"("input":[{"role":"user","content":"a"},{"role":"user","content":"b"},
    {"role":"assistant","content":"c"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
    {"role":"assistant","content":"d"},{"role":"user","content":"e"},
    {"type":"function_call_output","output":"f"},{"role":"user","content":"g"}])"),
            R"([{"role":"user","content":"a\nb"},{"role":"assistant","content":"c\nd","tool_calls":[)"
            R"({"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},)"
            R"({"role":"tool","tool_call_id":"c1","content":"f"},{"role":"user","content":"e\ng"}])")
      << "and what came of a call stands behind it, also where it doesn't say of which";
}

TEST(ReadResponse, ABegunAnswerIsGoneOnWith) {
  const auto asked = read_response(R"({"input":[{"role":"user","content":"x"},{"role":"assistant","content":"One"}]})");
  ASSERT_TRUE(asked);
  EXPECT_THAT(asked->body, HasSubstr(R"("continue_final_message":true)"));
  EXPECT_EQ(asked->begun.content, "One");
  EXPECT_THAT(read(R"("input":"x")"), Not(HasSubstr("continue_final_message")));
}

TEST(ReadResponse, EachThoughtIsTaken) {
  EXPECT_EQ(messages(R"("input":[{"role":"user","content":"x"},
    {"type":"reasoning","content":[{"type":"reasoning_text","text":"one"}],"summary":[{"text":"no"}]},
    {"type":"reasoning","summary":[{"type":"summary_text","text":"two"}]},{"type":"reasoning","summary":[]},
    {"role":"assistant","content":"y"},{"role":"user","content":"z"},{"type":"reasoning","encrypted_content":"?"}])"),
            R"([{"role":"user","content":"x"},{"role":"assistant","content":"y","reasoning_content":"one\ntwo"},)"
            R"({"role":"user","content":"z"}])");
}

TEST(ReadResponse, ATurnOfTheAssistantIsOneMessage) {
  EXPECT_EQ(messages(R"("input":[{"role":"user","content":"weather?"},
    {"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"short"}],
     "content":[{"type":"reasoning_text","text":"long"}]},
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},
    {"type":"function_call","call_id":"c1","name":"get","arguments":"{\"x\":1}"},
    {"type":"custom_tool_call","call_id":"c2","name":"patch","input":"a\nb"},
    {"type":"web_search_call","id":"w","status":"completed"},
    {"type":"function_call_output","call_id":"c1","output":"sunny"},
    {"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"done"}]},
    {"type":"message","role":"assistant","content":"Sunny."}])"),
            R"([{"role":"user","content":"weather?"},)"
            R"({"role":"assistant","content":"I look.","reasoning_content":"long","tool_calls":[)"
            R"({"id":"c1","type":"function","function":{"name":"get","arguments":"{\"x\":1}"}},)"
            R"({"id":"c2","type":"function","function":{"name":"patch","arguments":"{\"input\":\"a\\nb\"}"}}]},)"
            R"({"role":"tool","tool_call_id":"c1","content":"sunny"},)"
            R"({"role":"tool","tool_call_id":"c2","content":"done"},)"
            R"({"role":"assistant","content":"Sunny."}])");
}

TEST(ReadResponse, ImagesStayWhereTheyAre) {
  EXPECT_EQ(messages(R"("input":[{"role":"user","content":[{"type":"input_text","text":"What?"},
    {"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]}])"),
            R"([{"role":"user","content":[{"type":"text","text":"What?"},)"
            R"({"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}])");
}

TEST(ReadResponse, SoundStaysWhereItIs) {
  EXPECT_EQ(messages(R"("input":[{"role":"user","content":[
    {"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},{"type":"input_text","text":"What?"}]}])"),
            R"([{"role":"user","content":[)"
            R"({"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},)"
            R"({"type":"text","text":"What?"}]}])");
}

TEST(ReadResponse, AFileMayBeAPicture) {
  EXPECT_EQ(messages(R"("input":[{"role":"user","content":[{"type":"input_file","filename":"a.png",)"
                     R"("file_data":"data:image/png;base64,iVBORw0KGgo="},{"type":"input_text","text":"What?"}]}])"),
            R"([{"role":"user","content":[{"type":"text","text":"a.png"},)"
            R"({"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},)"
            R"({"type":"text","text":"What?"}]}])");
}

TEST(ReadResponse, PicturesThatToolsGiveAreSeen) {
  EXPECT_THAT(messages(R"("input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
    {"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"See"},
     {"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]}])"),
              HasSubstr(R"({"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"See"},)"
                        R"({"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]})"));
}

TEST(ReadResponse, AToolThatStandsByItselfGoesBeforeThoseOfNamespaces) {
  const std::string tools = R"("input":"x","tools":[{"type":"namespace","name":"mcp","tools":[
    {"type":"function","name":"find"},{"type":"function","name":"other"}]},{"type":"function","name":"find"}],)";
  EXPECT_THAT(read(tools + R"("tool_choice":{"type":"function","name":"find"})"),
              HasSubstr(R"("tool_choice":{"type":"function","function":{"name":"find"}})"));
  EXPECT_THAT(read(tools + R"("tool_choice":{"type":"function","name":"other"})"),
              HasSubstr(R"("tool_choice":{"type":"function","function":{"name":"mcp__other"}})"));
}

TEST(ReadResponse, CustomToolsOfNamespacesAreOfferedToo) {
  const auto asked = read_response(R"({"input":"x","tools":[{"type":"namespace","name":"mcp","tools":[
    {"type":"custom","name":"patch","description":"d"}]}],"tool_choice":{"type":"custom","name":"patch"}})");
  ASSERT_TRUE(asked);
  EXPECT_THAT(asked->body, HasSubstr(R"("function":{"name":"mcp__patch","description":"d","parameters":)"));
  EXPECT_THAT(asked->body, HasSubstr(R"("tool_choice":{"type":"function","function":{"name":"mcp__patch"}})"));
  const auto& tools = static_cast<const ResponseFacts*>(asked->facts.get())->tools;
  ASSERT_TRUE(tools.contains("mcp__patch"));
  EXPECT_EQ(tools.at("mcp__patch").name_space, "mcp");
  EXPECT_TRUE(tools.at("mcp__patch").custom);
  EXPECT_TRUE(read_response(R"({"input":"x","tool_choice":"required","tools":[{"type":"namespace","name":"mcp",
    "tools":[{"type":"custom","name":"patch"}]}]})"));
}

TEST(ReadResponseCount, TakesThePromptAndNothingElse) {
  const auto asked = read_response_count(R"({"model":"m","instructions":"S","input":"x","max_output_tokens":5,
    "stream":true,"tools":[{"type":"function","name":"f"}]})");
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->body, R"({"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"x"}],)"
                         R"("tools":[{"type":"function","function":{"name":"f"}}]})");
  EXPECT_FALSE(asked->about.stream);
  EXPECT_EQ(read_response_count(R"({"model":"m"})").error().param, "input");
  EXPECT_EQ(read_response_count(R"({"input":"x","conversation":"conv_1"})").error().param, "conversation");
}

TEST(ReadResponseOn, WhatWasBeforeStandsInFront) {
  const std::string body =
      R"({"instructions":"S","input":[{"type":"function_call_output","call_id":"c","output":"ok"}],)"
      R"("previous_response_id":"resp_1"})";
  Before before{.id = "req-7", .keeps = true};
  const auto first = read_response_on(body, before);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->storage->looks_back());
  EXPECT_EQ(first->storage->previous, "resp_1");
  EXPECT_EQ(first->body, "") << "it can't be known whether it is right";
  before.found = true;
  before.earlier = {R"([{"role":"user","content":"Q"}])",
                    R"({"output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]})"};
  const auto asked = read_response_on(body, before);
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_THAT(asked->body, HasSubstr(R"([{"role":"system","content":"S"},{"role":"user","content":"Q"},)"));
  EXPECT_THAT(asked->body, HasSubstr(R"({"role":"tool","tool_call_id":"c","content":"ok"})"));
  EXPECT_EQ(asked->storage->input, R"([{"id":"fco_7_i0","type":"function_call_output","call_id":"c","output":"ok"}])");
  EXPECT_THAT(std::static_pointer_cast<const ResponseFacts>(asked->facts)->echo,
              HasSubstr(R"("previous_response_id":"resp_1","conversation":null)"));
}

TEST(ReadResponseOn, AnOutputNeedsItsCallInAContinuedConversation) {
  const auto read = [](const std::string& input, const std::string& continued) {
    Before before{.id = "req-7", .keeps = true, .found = true};
    before.earlier = {
        R"([{"role":"user","content":"Q"},{"type":"custom_tool_call","call_id":"p","name":"f","input":""}])",
        R"({"output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]})"};
    return read_response_on(R"({"model":"m","input":[)" + input + R"(],)" + continued + "}", before);
  };
  const std::string orphan = R"({"type":"function_call_output","call_id":"other","output":"ok"})";
  const std::string previous = R"("previous_response_id":"resp_1")", conversation = R"("conversation":"conv_1")";
  const auto refused = read(R"({"role":"user","content":"x"},)" + orphan, previous);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "'input[1].call_id' is \"other\", but the conversation of 'previous_response_id' has no call with this id: "
            "send the id of one of its calls, or the call itself before its output");
  EXPECT_EQ(refused.error().param, "input[1].call_id");
  EXPECT_THAT(read(orphan, conversation).error().message, HasSubstr("conversation of 'conversation' has no call"));
  for (const auto& good : {R"({"type":"function_call_output","call_id":"c","output":"ok"})",
                           R"({"type":"custom_tool_call_output","call_id":"p","output":"ok"})",
                           R"({"type":"function_call_output","output":"ok"})",
                           R"({"type":"function_call","call_id":"d","name":"f","arguments":"{}"},)"
                           R"({"type":"function_call_output","call_id":"d","output":"ok"})"})
    EXPECT_TRUE(read(good, previous)) << good;
  EXPECT_TRUE(read(orphan, R"("store":false)")) << "the client may have shortened its conversation";
}

TEST(ReadResponseOn, ItemsAreReferredTo) {
  const std::string body = R"({"input":[{"type":"item_reference","id":"a"},{"type":"item_reference","id":"a"},)"
                           R"({"role":"user","content":"x"}],"conversation":{"id":"conv_1"}})";
  Before before{.id = "req-7", .keeps = true, .found = true};
  EXPECT_EQ(read_response_on(body, before).error().param, "input[0].id");
  before.items["a"] = R"({"id":"a","type":"message","role":"assistant","content":[{"type":"output_text","text":"A"}]})";
  const auto asked = read_response_on(body, before);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->storage->references, (std::vector<std::string>{"a"}));
  EXPECT_EQ(asked->storage->conversation, "conv_1");
  EXPECT_THAT(asked->body, HasSubstr(R"({"role":"assistant","content":"A\nA"},{"role":"user","content":"x"})"));
  before.items["a"] = R"({"id":"a","type":"item_reference"})";
  EXPECT_TRUE(read_response_on(body, before)) << "and nothing turns in a circle";
}

TEST(ReadResponseOn, WhetherItIsKept) {
  const auto request = [](const std::string& more, bool keeps) {
    const auto asked = read_response_on(R"({"input":"x")" + more + "}", {.id = "req-7", .keeps = keeps});
    EXPECT_TRUE(asked) << more;
    const auto& facts = *std::static_pointer_cast<const ResponseFacts>(asked->facts);
    EXPECT_EQ(facts.echo.contains(R"("store":true)"), asked->storage->store) << more;
    EXPECT_EQ(asked->storage->input.empty(), !asked->storage->store) << more;
    return *asked->storage;
  };
  EXPECT_TRUE(request("", true).store);
  EXPECT_FALSE(request("", true).insists);
  EXPECT_TRUE(request(R"(,"store":true)", true).insists);
  EXPECT_FALSE(request(R"(,"store":false)", true).store);
  EXPECT_FALSE(request(R"(,"store":true)", false).store);
  EXPECT_TRUE(request(R"(,"background":true)", true).background);
}

TEST(ReadResponse, LogProbabilitiesAreAskedFor) {
  EXPECT_THAT(read(R"("input":"x","include":["message.output_text.logprobs"],"top_logprobs":3)"),
              HasSubstr(R"("logprobs":true,"top_logprobs":3)"));
  EXPECT_THAT(read(R"("input":"x","top_logprobs":2)"), HasSubstr(R"("logprobs":true,"top_logprobs":2)"));
  EXPECT_THAT(read(R"("input":"x","include":["reasoning.encrypted_content"],"top_logprobs":0)"),
              testing::Not(HasSubstr("logprobs")));
}

TEST(ReadResponse, WhatIsRepeatedIsSmall) {
  std::string members;
  for (int i = 0; i < 17; ++i) members += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":\"v\"";
  const std::string longer(600, 'x');
  EXPECT_EQ(refused(R"("input":"x","metadata":{)" + members + "}").param, "metadata");
  EXPECT_EQ(refused(R"("input":"x","metadata":{"a":")" + longer + "\"}").param, "metadata.a");
  EXPECT_EQ(refused(R"("input":"x","metadata":{")" + longer + R"(":"a"})").param, "metadata");
  for (const std::string name : {"user", "safety_identifier", "prompt_cache_key"})
    EXPECT_EQ(refused(R"("input":"x",")" + name + R"(":")" + longer + "\"").param, name);
}

TEST(ReadResponse, WhatIsTooLargeIsntRepeated) {
  const auto echo = [](std::size_t size) {
    const auto asked = read_response(R"({"input":"x","instructions":")" + std::string(size, 'i') + "\"}");
    EXPECT_TRUE(asked);
    return static_cast<const ResponseFacts*>(asked->facts.get())->echo;
  };
  EXPECT_THAT(echo(1000), HasSubstr(R"("instructions":"iii)"));
  EXPECT_THAT(echo(100'000), HasSubstr(R"("instructions":null)"));
  EXPECT_LT(echo(100'000).size(), 1000u);
}

TEST(ReadResponse, ToolsOfThreeKindsAreFunctions) {
  const auto asked = read_response(R"({"model":"m","input":"x","tools":[
    {"type":"function","name":"get","description":"d","parameters":{"type":"object"},"strict":true},
    {"type":"custom","name":"patch","description":"Patches.","format":{"type":"grammar","definition":"start: x"}},
    {"type":"namespace","name":"mcp","tools":[{"type":"function","name":"find","parameters":{"type":"object"}},
                                              {"type":"other"}]},
    {"type":"web_search"}],"tool_choice":{"type":"function","name":"find"},"parallel_tool_calls":false})");
  ASSERT_TRUE(asked);
  EXPECT_THAT(asked->body,
              HasSubstr(R"("tools":[{"type":"function","function":{"name":"get","description":"d",)"
                        R"("parameters":{"type":"object"},"strict":true}},{"type":"function","function":{)"
                        R"("name":"patch","description":"Patches.\nThe input follows these rules:\nstart: x",)"));
  EXPECT_THAT(asked->body, HasSubstr(R"({"type":"function","function":{"name":"mcp__find",)"));
  EXPECT_THAT(asked->body, HasSubstr(R"("tool_choice":{"type":"function","function":{"name":"mcp__find"}})"));
  EXPECT_THAT(asked->body, HasSubstr(R"("parallel_tool_calls":false)"));
  EXPECT_THAT(asked->body, Not(HasSubstr("web_search")));
}

TEST(ReadResponse, OnlyToolsOfOthersAreNone) {
  EXPECT_THAT(read(R"("input":"x","tools":[{"type":"web_search"}],"tool_choice":"auto")"), Not(HasSubstr("tool")));
}

TEST(ReadResponse, OptionsHaveTheirCanonicalNames) {
  EXPECT_EQ(read(R"("input":"x","max_output_tokens":7,"temperature":0,"top_p":0.5,"stream":true,
    "presence_penalty":1,"frequency_penalty":-0.5,
    "reasoning":{"effort":"minimal"},"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}},
    "store":true,"truncation":"auto","include":[],"metadata":{"a":"b"})"),
            R"({"model":"m","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema",)"
            R"("json_schema":{"name":"n","schema":{"type":"object"}}},"reasoning_effort":"low","max_tokens":7,)"
            R"("temperature":0,"top_p":0.5,"presence_penalty":1,"frequency_penalty":-0.5,"stream":true,)"
            R"("stream_options":{"include_usage":true}})");
}

TEST(ReadResponse, NamespacesTogetherHaveNoMoreToolsThanAChat) {
  std::string inside = R"({"type":"function","name":"f"})";
  for (int i = 1; i < 300; ++i) inside += R"(,{"type":"function","name":"f"})";
  const auto space = [&](std::string_view name) {
    return R"({"type":"namespace","name":")" + std::string(name) + R"(","tools":[)" + inside + "]}";
  };
  EXPECT_TRUE(read_response(R"({"input":"x","tools":[)" + space("a") + "]}"));
  const auto error = refused(R"("input":"x","tools":[)" + space("a") + "," + space("b") + "]");
  EXPECT_EQ(error.param, "tools");
  EXPECT_THAT(error.message, HasSubstr("600 tools in namespaces, more than 512"));
}

TEST(ReadResponse, ATextDocumentIsReadAsText) {
  EXPECT_EQ(messages(R"("input":[{"role":"user","content":[{"type":"input_text","text":"Read."},
    {"type":"input_file","filename":"a.txt","file_data":"data:text/plain;charset=utf-8;base64,SGkgw6kK"},
    {"type":"input_file","file_data":"data:application/json;base64,e30="}]}])"),
            R"([{"role":"user","content":"Read.\na.txt\nHi é\n\n{}"}])");
}

TEST(ReadResponse, WhatIsWrongIsNamedAsTheClientNamedIt) {
  struct Case {
    std::string_view members;
    std::string_view param;
  };
  for (
      const auto& [members, param] : {
          Case{R"("model":"m")", "input"},
          Case{R"("input":7)", "input"},
          Case{R"("input":[7])", "input[0]"},
          Case{R"("input":[{"role":"robot","content":"x"}])", "input[0].role"},
          Case{R"("input":[{"role":"user","content":[{"type":"input_video"}]}])", "input[0].content[0].type"},
          Case{R"("input":[{"role":"user","content":[{"type":"input_audio"}]}])", "input[0].content[0].input_audio"},
          Case{
              R"("input":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"!","format":"wav"}}]}])",
              "input[0].content[0].input_audio.data"},
          Case{R"("input":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklGRg=="}}]}])",
               "input[0].content[0].input_audio.format"},
          Case{R"("input":[{"role":"system","content":[{"type":"input_audio","input_audio":)"
               R"({"data":"UklGRg==","format":"wav"}}]}])",
               "input[0].content[0].type"},
          Case{R"("input":[{"role":"user","content":[{"type":"input_text"}]}])", "input[0].content[0].text"},
          Case{R"("input":[{"role":"user","content":[7]}])", "input[0].content[0]"},
          Case{R"("input":[{"type":"function_call","name":"f","arguments":"{}"}])", "input[0].call_id"},
          Case{R"("input":[{"type":"function_call","call_id":"c","name":"f","arguments":{}}])", "input[0].arguments"},
          Case{R"("input":[{"type":"function_call_output","call_id":"c"}])", "input[0].output"},
          Case{R"("input":[{"type":7}])", "input[0].type"},
          Case{R"("input":[{"type":"item_reference","id":"x"}])", "input"},
          Case{R"("input":[{"type":"item_reference"}])", "input[0].id"},
          Case{R"("input":"x","previous_response_id":"")", "previous_response_id"},
          Case{R"("input":"x","conversation":{})", "conversation.id"},
          Case{R"("input":"x","conversation":"c","previous_response_id":"r")", "conversation"},
          Case{R"("input":"x","background":true,"store":false)", "background"},
          Case{R"("input":"x","include":"all")", "include"},
          Case{R"("input":"x","top_logprobs":21)", "top_logprobs"},
          Case{R"("input":"x","prompt":{"id":"p"})", "prompt"},
          Case{R"("input":"x","tools":[{"type":"function"}])", "tools[0].name"},
          Case{R"("input":"x","tools":[{"type":"namespace","name":"n","tools":[{"type":"function"}]}])",
               "tools[0].tools[0].name"},
          Case{R"("input":"x","tools":[{"type":"namespace","name":"n","tools":[{"type":"custom"}]}])",
               "tools[0].tools[0].name"},
          Case{R"("input":"x","tools":[{"type":"namespace","name":"n","tools":[7]}])", "tools[0].tools[0]"},
          Case{R"("input":[{"role":"developer","content":[{"type":"input_image","image_url":"http://x/y.png"}]}])",
               "input[0].content[0].type"},
          Case{R"("input":[{"role":"system","content":[{"type":"input_file","file_data":)"
               R"("data:image/png;base64,iVBORw0KGgo="}]}])",
               "input[0].content[0].type"},
          Case{R"("input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}])",
               "input[0].content[0].image_url"},
          Case{
              R"("input":[{"role":"user","content":[{"type":"input_file","file_data":"data:image/png;base64,QQ=="}]}])",
              "input[0].content[0].file_data"},
          Case{R"("input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"f",)"
               R"("arguments":"{}"}])",
               "input"},
          Case{R"("input":"x","metadata":{"a":7})", "metadata.a"},
          Case{R"("input":"x","user":7)", "user"},
          Case{R"("input":"x","max_tool_calls":"x")", "max_tool_calls"},
          Case{R"("input":"x","tool_choice":"required")", "tool_choice"},
          Case{R"("input":"x","tool_choice":{"type":"function","name":"f"})", "tool_choice.name"},
          Case{R"("input":"x","max_output_tokens":0)", "max_output_tokens"},
          Case{R"("input":"x","text":{"format":{"type":"json_schema"}})", "text.format.schema"},
          Case{R"("input":"x","previous_response_id":"resp_1")", "previous_response_id"},
          Case{R"("input":"x","conversation":"conv_1")", "conversation"},
          Case{R"("input":"x","background":true)", "background"},
      }) {
    EXPECT_EQ(refused(std::string(members)).param, param) << members;
  }
  EXPECT_EQ(refused(R"("instructions":"x")").param, "input");
  EXPECT_EQ(refused(R"("input":null,"conversation":"conv_1")").param, "conversation") << "which needs no input";
  const auto file = [](std::string_view members) {
    return refused(R"("input":[{"role":"user","content":[{"type":"input_file",)" + std::string(members) + "}]}]");
  };
  const std::string data = "input[0].content[0].file_data";
  EXPECT_EQ(file(R"("filename":"a.txt")").param, data);
  EXPECT_EQ(file(R"("file_data":"SGk=")").param, data);
  EXPECT_EQ(file(R"("file_data":"data:text/plain;base64,S")").param, data);
  EXPECT_EQ(file(R"("file_data":"data:text/plain;base64,SG~=")").param, data);
  EXPECT_THAT(file(R"("file_data":"data:text/plain;base64,/w==")").message, HasSubstr("UTF-8"));
  const auto pdf = file(R"("file_data":"data:application/pdf;base64,SGk=")");
  EXPECT_EQ(pdf.code, protocol::errc::unsupported_value);
  EXPECT_THAT(pdf.message, HasSubstr("has the type \"application/pdf\""));
  std::string strange;
  for (int i = 0; i < 64; ++i) strange += "é";
  const auto shown = file(R"("file_data":"data:a)" + strange + R"(;base64,SGk=")").message;
  EXPECT_TRUE(json::is_utf8(shown)) << shown;
  EXPECT_EQ(file(R"("file_id":"file-1")").param, "input[0].content[0].file_id");
  EXPECT_FALSE(read_response("[]"));
  EXPECT_FALSE(read_response("{"));
  EXPECT_TRUE(read_response(R"({"input":"x","previous_response_id":null,"background":false})"));
}

}  // namespace
}  // namespace corral::dialects::responses
