#include "protocol/fields.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/errors.h"
#include "protocol/errors.h"
#include "protocol/http_error.h"
#include "protocol/requests.h"

namespace corral::protocol {
namespace {

using testing::HasSubstr;

std::string chat(std::string_view more, std::string_view messages = R"([{"role":"user","content":"hi"}])") {
  return std::string(R"({"model":"m","messages":)").append(messages).append(more).append("}");
}

TEST(Fields, PeeksWhatARouterWants) {
  const auto peeked = check(chat(R"(,"stream":true,"stream_options":{"include_usage":true})"), chat_fields());
  ASSERT_TRUE(peeked);
  EXPECT_EQ(peeked->model, "m");
  EXPECT_TRUE(peeked->stream);
  EXPECT_TRUE(peeked->include_usage);
}

TEST(Fields, PingsAreCountedInSecondsAndMayBeLeftOut) {
  const auto interval = [](const std::string& more) { return check(chat(more), chat_fields())->ping_interval; };
  EXPECT_EQ(interval(""), std::nullopt);
  EXPECT_EQ(interval(R"(,"sse_ping_interval":null)"), std::nullopt);
  EXPECT_EQ(interval(R"(,"sse_ping_interval":15)"), Millis(15'000));
  EXPECT_EQ(interval(R"(,"sse_ping_interval":2147483647)"), Millis(2'147'483'647'000));
  EXPECT_EQ(interval(R"(,"sse_ping_interval":0)"), Millis(0));
  EXPECT_EQ(interval(R"(,"sse_ping_interval":-1)"), Millis(0));
  EXPECT_EQ(parse_chat_request(chat(R"(,"sse_ping_interval":15)"))->ping_interval, Millis(15'000));
}

TEST(Fields, NullMeansNotGivenAndUnknownFieldsPass) {
  const auto peeked =
      check(chat(R"(,"stream":null,"temperature":null,"stop":null,"tools":null,"n":null,"model":null,"zzz":{"a":[1]})"),
            chat_fields());
  ASSERT_TRUE(peeked) << peeked.error().message;
  EXPECT_FALSE(peeked->stream);
  EXPECT_EQ(peeked->model, "");
}

struct Bad {
  std::string body;
  errc cause;
  std::string param;
  std::string message;
};

void expect_refused(const std::vector<Bad>& cases, const FieldTable& table) {
  for (const auto& bad : cases) {
    const auto checked = check(bad.body, table);
    ASSERT_FALSE(checked) << bad.body;
    EXPECT_EQ(checked.error().code, bad.cause) << bad.body << "\n" << checked.error().message;
    EXPECT_EQ(checked.error().param, bad.param) << bad.body;
    EXPECT_THAT(checked.error().message, HasSubstr(bad.message)) << bad.body;
    EXPECT_EQ(http_status(checked.error()), 400u);
  }
}

TEST(Fields, ChatBodiesThatAreRefused) {
  const auto message = [](std::string_view text) { return chat("", std::string("[").append(text).append("]")); };
  expect_refused(
      {
          {"[]", errc::wrong_type, "", "the body must be a JSON object, not an array"},
          {"3", errc::wrong_type, "", "not 3"},
          {"{}", errc::missing_field, "messages", "'messages' is required"},
          {R"({"messages":null})", errc::missing_field, "messages", "'messages' is required"},
          {R"({"messages":[]})", errc::bad_value, "messages", "non-empty array"},
          {R"({"messages":"hi"})", errc::wrong_type, "messages", "must be a non-empty array of objects, not \"hi\""},
          {R"({"messages":["hi"]})", errc::wrong_type, "messages[0]", "'messages[0]' is \"hi\""},
          {chat(R"(,"temperature":"hot")"), errc::wrong_type, "temperature",
           "'temperature' must be a number between 0 and 2, not \"hot\""},
          {chat(R"(,"temperature":2.5)"), errc::bad_value, "temperature", "between 0 and 2, not 2.5"},
          {chat(R"(,"temperature":-1)"), errc::bad_value, "temperature", "not -1"},
          {chat(R"(,"temperature":true)"), errc::wrong_type, "temperature", "not true"},
          {chat(R"(,"max_tokens":1.5)"), errc::wrong_type, "max_tokens", "an integer between -1 and"},
          {chat(R"(,"max_tokens":99999999999)"), errc::bad_value, "max_tokens", "not 99999999999"},
          {chat(R"(,"stream":"yes")"), errc::wrong_type, "stream", "'stream' must be true or false, not \"yes\""},
          {chat(R"(,"stream":1)"), errc::wrong_type, "stream", "not 1"},
          {chat(R"(,"sse_ping_interval":-2)"), errc::bad_value, "sse_ping_interval", "between -1 and"},
          {chat(R"(,"sse_ping_interval":0.5)"), errc::wrong_type, "sse_ping_interval", "an integer"},
          {chat(R"(,"continue_final_message":"tools")"), errc::bad_value, "continue_final_message",
           "\"content\" or \"reasoning_content\""},
          {chat(R"(,"continue_final_message":true)"), errc::bad_value, "continue_final_message",
           "not from the assistant"},
          {chat(R"(,"continue_final_message":true,"add_generation_prompt":true)",
                R"([{"role":"assistant","content":"a"}])"),
           errc::bad_value, "continue_final_message", "omit one of them"},
          {chat(R"(,"return_progress":"yes")"), errc::wrong_type, "return_progress", "true or false"},
          {chat(R"(,"model":7)"), errc::wrong_type, "model", "a non-empty string, not 7"},
          {chat(R"(,"model":"")"), errc::bad_value, "model", "it is empty"},
          {chat(R"(,"n":33)"), errc::bad_value, "n", "'n' must be an integer between 1 and 32, not 33"},
          {chat(R"(,"samplers":["top_k","nothing"])"), errc::bad_value, "samplers[1]",
           "must be a sampler, not \"nothing\"; available: penalties (e), dry (d)"},
          {chat(R"(,"samplers":"kz")"), errc::bad_value, "samplers", "not \"z\""},
          {chat(R"(,"samplers":["infill"])"), errc::bad_value, "samplers[0]", "not \"infill\""},
          {chat(R"(,"samplers":[1])"), errc::wrong_type, "samplers[0]", "array of strings"},
          {chat(R"(,"samplers":3)"), errc::wrong_type, "samplers", "a string or an array of strings, not 3"},
          {chat(R"(,"adaptive_target":1.5)"), errc::bad_value, "adaptive_target", "between -1 and 1, not 1.5"},
          {chat(R"(,"adaptive_decay":1)"), errc::bad_value, "adaptive_decay", "between 0 and 0.99, not 1"},
          {chat(R"(,"lora":[{"scale":1}])"), errc::missing_field, "lora[0].id", "required"},
          {chat(R"(,"lora":[{"id":-1}])"), errc::bad_value, "lora[0].id", "not -1"},
          {chat(R"(,"lora":{"0":1})"), errc::wrong_type, "lora", "array"},
          {chat(R"(,"n_indent":4)"), errc::unsupported_value, "n_indent", "must be omitted, not 4"},
          {chat(R"(,"reasoning_budget_tokens":100)"), errc::unsupported_value, "reasoning_budget_tokens", "not 100"},
          {chat(R"(,"thinking_budget_tokens":0)"), errc::unsupported_value, "thinking_budget_tokens",
           "enable_thinking"},
          {chat(R"(,"modalities":["text","audio"])"), errc::unsupported_value, "modalities", "output is text"},
          {chat(R"(,"functions":[{"name":"f"}])"), errc::unsupported_value, "functions", "'tools'"},
          {chat(R"(,"grammar_triggers":[{"value":"a"}])"), errc::missing_field, "grammar_triggers[0].type", "required"},
          {chat(R"(,"grammar_triggers":[{"type":4,"value":"a"}])"), errc::bad_value, "grammar_triggers[0].type",
           "0 and 3"},
          {chat(R"(,"grammar_triggers":[{"type":0,"value":"a"}])"), errc::missing_field, "grammar_triggers[0].token",
           ""},
          {chat(R"(,"t_max_predict_ms":-2)"), errc::bad_value, "t_max_predict_ms", "between -1 and"},
          {chat(R"(,"n":0)"), errc::bad_value, "n", "not 0"},
          {chat(R"(,"stop":5)"), errc::wrong_type, "stop", "a string or an array of strings, not 5"},
          {chat(R"(,"stop":["a",5])"), errc::wrong_type, "stop[1]", "'stop[1]' is 5"},
          {chat(R"(,"seed":"x")"), errc::wrong_type, "seed", "must be an integer"},
          {chat(R"(,"top_p":1.01)"), errc::bad_value, "top_p", "between 0 and 1"},
          {chat(R"(,"logit_bias":{"5":"x"})"), errc::bad_value, "logit_bias", "not to \"x\""},
          {chat(R"(,"logit_bias":{"5":101})"), errc::bad_value, "logit_bias", "101"},
          {chat(R"(,"logit_bias":[[1]])"), errc::bad_value, "logit_bias", "array"},
          {chat(R"(,"logit_bias":[[{},1]])"), errc::bad_value, "logit_bias", "array"},
          {chat(R"(,"logit_bias":[[4294967297,5]])"), errc::bad_value, "logit_bias", "array"},
          {chat(R"(,"response_format":"json")"), errc::wrong_type, "response_format", "an object"},
          {chat(R"(,"response_format":{})"), errc::missing_field, "response_format.type", "required"},
          {chat(R"(,"response_format":{"type":"xml"})"), errc::bad_value, "response_format.type",
           R"("text", "json_object" or "json_schema", not "xml")"},
          {chat(R"(,"response_format":{"type":"json_schema"})"), errc::missing_field, "response_format.json_schema",
           ""},
          {chat(R"(,"stream_options":{"include_usage":"yes"})"), errc::wrong_type, "stream_options.include_usage", ""},
          {chat(R"(,"tools":{})"), errc::wrong_type, "tools", "array of objects"},
          {chat(R"(,"tools":[{"type":"function"}])"), errc::missing_field, "tools[0].function", ""},
          {chat(R"(,"tools":[{"type":"function","function":{"name":""}}])"), errc::bad_value, "tools[0].function.name",
           ""},
          {chat(R"(,"tools":[{"type":"function","function":{"name":"f","parameters":[]}}])"), errc::wrong_type,
           "tools[0].function.parameters", "an object"},
          {chat(R"(,"tool_choice":"maybe")"), errc::bad_value, "tool_choice", R"("auto", "none" or "required")"},
          {chat(R"(,"tool_choice":{"type":"function"})"), errc::missing_field, "tool_choice.function", ""},
          {chat(R"(,"tool_choice":{"type":"allowed_tools"})"), errc::missing_field, "tool_choice.allowed_tools",
           "an object with 'mode' and 'tools'"},
          {chat(R"(,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"none","tools":[{}]}})"),
           errc::bad_value, "tool_choice.allowed_tools.mode", R"("auto" or "required", not "none")"},
          {chat(
               R"(,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function"}]}})"),
           errc::missing_field, "tool_choice.allowed_tools.tools[0].function", "an object with 'name'"},
          {chat(R"(,"top_logprobs":21)"), errc::bad_value, "top_logprobs", "between 0 and 20"},
          {message("{}"), errc::missing_field, "messages[0].role", "required"},
          {message(R"({"role":"user"})"), errc::missing_field, "messages[0].content", "a string or an array of parts"},
          {message(R"({"role":"user","content":null})"), errc::missing_field, "messages[0].content", ""},
          {message(R"({"role":"user","content":3})"), errc::wrong_type, "messages[0].content",
           "a string or an array of objects, not 3"},
          {message(R"({"role":"user","content":["x"]})"), errc::wrong_type, "messages[0].content[0]", ""},
          {message(R"({"role":"user","content":[{"type":"text"}]})"), errc::missing_field,
           "messages[0].content[0].text", ""},
          {message(R"({"role":"user","content":[{"type":"smell"}]})"), errc::bad_value, "messages[0].content[0].type",
           "smell"},
          {message(R"({"role":"assistant"})"), errc::missing_field, "messages[0].content", "tool_calls"},
          {message(R"({"role":"assistant","tool_calls":[{"type":"function"}]})"), errc::missing_field,
           "messages[0].tool_calls[0].function", ""},
          {message(R"({"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":""}}]})"),
           errc::missing_field, "messages[0].tool_calls[0].type", "\"function\""},
          {message(R"({"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f"}}]})"),
           errc::missing_field, "messages[0].tool_calls[0].function.arguments", "a string or an object"},
          {chat(R"(,"repeat_last_n":-2)"), errc::bad_value, "repeat_last_n", "between -1 and"},
          {chat(R"(,"repeat_penalty":0)"), errc::bad_value, "repeat_penalty", "between 0.01 and 10"},
          {chat(R"(,"chat_template_kwargs":{"enable_thinking":"no"})"), errc::wrong_type,
           "chat_template_kwargs.enable_thinking", "must be true or false, not \"no\""},
          {chat(R"(,"json_schema":{"pattern":")" + std::string(300, '(') + R"("})"), errc::bad_value, "json_schema",
           "300 deep"},
          {message(R"({"role":"assistant","content":"a"},{"role":"assistant","content":"b"})"), errc::bad_value,
           "messages", "two assistant messages"},
          {message(
               R"({"role":"assistant","content":"a","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]})"),
           errc::bad_value, "messages", "tool calls"},
          {message(R"({"role":5,"content":""})"), errc::wrong_type, "messages[0].role", "not 5"},
      },
      chat_fields());
}

TEST(Fields, OtherBodiesThatAreRefused) {
  expect_refused(
      {{"{}", errc::missing_field, "prompt", "required"},
       {R"({"prompt":5})", errc::wrong_type, "prompt", "not 5"},
       {R"({"prompt":[]})", errc::bad_value, "prompt", "non-empty array"},
       {R"({"prompt":["a",1,[2]]})", errc::wrong_type, "prompt[2]", "an array with tokens is one prompt"},
       {R"({"prompt":["a",-1]})", errc::bad_value, "prompt[1]", "token number"},
       {R"({"prompt":[["a",1.5],"b"]})", errc::wrong_type, "prompt[0]", "must contain tokens"},
       {R"({"prompt":{"text":"a"}})", errc::missing_field, "prompt.prompt_string", "required"},
       {R"({"prompt":{"prompt_string":["a"]}})", errc::wrong_type, "prompt.prompt_string", "must contain tokens"},
       {R"({"prompt":["a",{"prompt_string":"b","multimodal_data":["x"]}]})", errc::unsupported_value,
        "prompt[1].multimodal_data", "prompts are text"},
       {R"({"prompt":[1,-1]})", errc::bad_value, "prompt[1]", "token number"},
       {R"({"prompt":[[4294967297]]})", errc::bad_value, "prompt[0][0]", "token number"},
       {R"({"prompt":[[1],[]]})", errc::bad_value, "prompt[1]", "empty"},
       {R"({"prompt":[[1],["a"]]})", errc::wrong_type, "prompt[1]", "must contain tokens"},
       {R"({"prompt":["a","c"],"suffix":"b"})", errc::unsupported_value, "suffix", "with 2 prompts"},
       {R"({"prompt":"a","best_of":0})", errc::bad_value, "best_of", "not 0"}},
      completion_fields());
  expect_refused(
      {{"{}", errc::missing_field, "input", "required"},
       {R"({"input":[]})", errc::bad_value, "input", "empty"},
       {R"({"input":""})", errc::bad_value, "input", "empty"},
       {R"({"input":["a",""]})", errc::bad_value, "input[1]", "'input[1]' is empty, there is nothing to embed"},
       {R"({"input":{}})", errc::missing_field, "input.prompt_string", "required"},
       {R"({"input":"a","encoding_format":"hex"})", errc::bad_value, "encoding_format", R"("float" or "base64")"},
       {R"({"input":"a","dimensions":0})", errc::bad_value, "dimensions", "not 0"}},
      embedding_fields());
  expect_refused({{R"({"documents":["a"]})", errc::missing_field, "query", "required"},
                  {R"({"query":"a"})", errc::missing_field, "documents", "required"},
                  {R"({"query":"a","documents":[]})", errc::bad_value, "documents", "empty"},
                  {R"({"query":"a","documents":[{}]})", errc::missing_field, "documents[0].text", "required"},
                  {R"({"query":"a","documents":["b"],"top_n":0})", errc::bad_value, "top_n", "not 0"},
                  {R"({"query":"a","texts":[]})", errc::bad_value, "texts", "empty"},
                  {R"({"query":"a","texts":[{"text":"b"}]})", errc::wrong_type, "texts[0]", "array of strings"},
                  {R"({"query":"a","texts":["b"],"documents":["c"]})", errc::bad_value, "texts", "omit"},
                  {R"({"query":"a","texts":["b"],"truncate":1})", errc::wrong_type, "truncate", "true or false"}},
                 rerank_fields());
  expect_refused({{"{}", errc::missing_field, "content", "required"}}, tokenize_fields());
  expect_refused({{R"({"tokens":["a"]})", errc::wrong_type, "tokens[0]", ""}}, detokenize_fields());
}

TEST(Fields, InfillsThatAreRefused) {
  expect_refused(
      {{R"({"input_suffix":"b"})", errc::missing_field, "input_prefix", "required"},
       {R"({"input_prefix":"a"})", errc::missing_field, "input_suffix", "required"},
       {R"({"input_prefix":"a","input_suffix":["b"]})", errc::wrong_type, "input_suffix", "must contain tokens"},
       {R"({"input_prefix":"a","input_suffix":"b","prompt":[1]})", errc::wrong_type, "prompt", "string"},
       {R"({"input_prefix":"a","input_suffix":"b","input_extra":{}})", errc::wrong_type, "input_extra", "array"},
       {R"({"input_prefix":"a","input_suffix":"b","input_extra":[{}]})", errc::missing_field, "input_extra[0].text",
        ""},
       {R"({"input_prefix":"a","input_suffix":"b","input_extra":[{"text":"c","filename":1}]})", errc::wrong_type,
        "input_extra[0].filename", ""}},
      infill_fields());
}

TEST(Fields, APromptHasSoManyTextsBetweenItsTokens) {
  std::string texts;
  for (std::size_t i = 0; i <= kMaxPromptTexts; ++i) texts += R"("",)";
  const auto refused = check(R"({"prompt":[)" + texts + "1]}", completion_fields());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "prompt");
}

TEST(Fields, BodiesThatPass) {
  const std::string fine[] = {
      chat(
          "",
          R"([{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"4"}])"),
      chat("", R"([{"role":"assistant","content":"a","tool_calls":[]}])"),
      chat(
          "",
          R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}])"),
      chat("", R"([{"role":"assistant","reasoning_content":"hm"},{"role":"tool","tool_call_id":"1","content":"4"}])"),
      chat(R"(,"tools":[{"type":"web_search"},{"type":"function","function":{"name":"f"}}],"tool_choice":"auto")"),
      chat(R"(,"logit_bias":{"5":-100,"hello":false},"seed":18446744073709551615)"),
      chat(R"(,"n":32,"unheard_of":"unknown fields pass")"),
      chat(R"(,"repeat_last_n":-1,"dry_penalty_last_n":-1)"),
      chat(R"(,"logit_bias":[[5,1.5],["x",false]],"stop":["a","b"],"temperature":0,"top_k":-1)"),
  };
  for (const auto& body : fine) {
    const auto checked = check(body, chat_fields());
    EXPECT_TRUE(checked) << body << "\n" << checked.error().message;
  }
}

TEST(Fields, OtherBodiesThatPass) {
  // As clients of text-embeddings-inference send it.
  EXPECT_TRUE(check(R"({"query":"a","texts":["b"],"truncate":true,"raw_scores":false})", rerank_fields()));
  EXPECT_TRUE(check(R"({"tokens":[]})", detokenize_fields()));
  EXPECT_TRUE(check(R"({"prompt":""})", completion_fields()));
  EXPECT_TRUE(check(R"({"input":[[1],[2]]})", embedding_fields()));
}

TEST(Fields, LlamaServersOwnEndpointHasWiderRanges) {
  for (const std::string more :
       {R"("temperature":3)", R"("frequency_penalty":-5)", R"("presence_penalty":2.5)", R"("repeat_penalty":12)",
        R"("logit_bias":{"5":-1000})", R"("logit_bias":[[5,1000]])"}) {
    const auto body = R"({"prompt":"a",)" + more + "}";
    EXPECT_TRUE(check(body, native_fields())) << body;
    EXPECT_FALSE(check(body, completion_fields())) << body;
  }
  EXPECT_FALSE(check(R"({"prompt":"a","temperature":-1})", native_fields()));
  EXPECT_FALSE(check(R"({"prompt":"a","logit_bias":{"5":1e7}})", native_fields()));
}

TEST(Fields, BiasesAreCounted) {
  const auto listed = [](std::size_t count) {
    std::string pairs = "[1,1]";
    for (std::size_t i = 1; i < count; ++i) pairs += ",[1,1]";
    return check(chat(R"(,"logit_bias":[)" + pairs + "]"), chat_fields());
  };
  EXPECT_TRUE(listed(16384));
  ASSERT_FALSE(listed(16385));
  EXPECT_EQ(listed(16385).error().param, "logit_bias");
  EXPECT_THAT(listed(16385).error().message, HasSubstr("is for 16385 tokens (a text counts its bytes), at most 16384"));
  // A text is several tokens, a number that is written as text is one.
  const auto named = [](const std::string& name) {
    return check(chat(R"(,"logit_bias":{"123456":1,")" + name + R"(":1})"), chat_fields());
  };
  EXPECT_TRUE(named(std::string(16383, 'x')));
  EXPECT_FALSE(named(std::string(16384, 'x')));
}

TEST(Fields, NotJsonNamesTheByte) {
  const auto checked = check(R"({"messages":[}")", chat_fields());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, json::errc::malformed);
  EXPECT_THAT(checked.error().message, HasSubstr("at byte 13"));
  EXPECT_EQ(http_status(checked.error()), 400u);
}

// Whatever stands in a body, it is taken or refused with a status of its own and a message, never worse.
TEST(Fields, MutatedBodiesAreTakenOrRefusedCleanly) {
  const std::pair<std::string, const FieldTable*> kBodies[] = {
      {chat(
           R"(,"temperature":0.5,"stop":["x"],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"logit_bias":{"1":2},"response_format":{"type":"json_object"},"seed":4,"n":1)",
           R"([{"role":"system","content":"be nice"},{"role":"user","content":[{"type":"text","text":"h\u00e9"}]}])"),
       &chat_fields()},
      {chat(R"(,"continue_final_message":"content","add_generation_prompt":false,"echo":true)",
            R"([{"role":"user","content":"hi"},{"role":"assistant","reasoning_content":"hm","content":"Once"}])"),
       &chat_fields()},
      {R"({"prompt":[[1,2],[3]],"max_tokens":4,"logprobs":2})", &completion_fields()},
      {R"({"prompt":["a","b"],"n":2,"n_probs":1,"grammar":"root ::= a","grammar_lazy":true,"grammar_triggers":[{"type":0,"value":"a","token":5}],"response_fields":["content","a/b"],"samplers":"kt"})",
       &native_fields()},
      {R"({"input":["a","b"],"encoding_format":"base64","dimensions":4})", &embedding_fields()},
      {R"({"query":"q","documents":["a",{"text":"b"}],"top_n":1})", &rerank_fields()},
      {R"({"query":"q","texts":["a","b"],"return_text":true,"raw_scores":false,"truncate":true})", &rerank_fields()},
  };
  const std::string_view kPieces[] = {
      "{",  "}",     "[",   "]",  "\"", ",",    ":",   "null", "true",        "-1",         "[]",
      "{}", "\"x\"", "1e9", "\\", "é",  "\xff", "0.5", " ",    "99999999999", "\"model\":", "\"messages\":"};
  std::mt19937 random(3);
  int taken = 0, refused = 0;
  for (int round = 0; round < 40'000; ++round) {
    const auto& [valid, table] = kBodies[random() % std::size(kBodies)];
    std::string body = valid;
    for (auto edits = 1 + random() % 3; edits > 0 && !body.empty(); --edits) {
      const auto at = random() % body.size();
      const auto piece = kPieces[random() % std::size(kPieces)];
      switch (random() % 4) {
        case 0:
          body[at] = static_cast<char>(random());
          break;
        case 1:
          body.erase(at, 1 + random() % 8);
          break;
        case 2:
          body.insert(at, piece);
          break;
        default:
          body.replace(at, std::min<std::size_t>(body.size() - at, 1 + random() % 6), piece);
          break;
      }
    }
    const auto checked = check(body, *table);
    if (checked) {
      ++taken;
      EXPECT_TRUE(json::Peek::open(body));
    } else {
      ++refused;
      ASSERT_EQ(http_status(checked.error()), 400u) << body;
      ASSERT_FALSE(checked.error().message.empty());
      ASSERT_TRUE(json::Peek::open(error_body(checked.error()))) << error_body(checked.error());
    }
    // The same body as a struct: the table alone decides.
    const bool parsed = table == &chat_fields()         ? parse_chat_request(body).has_value()
                        : table == &completion_fields() ? parse_completion_request(body).has_value()
                        : table == &native_fields()     ? parse_native_request(body).has_value()
                        : table == &embedding_fields()  ? parse_embedding_request(body).has_value()
                                                        : parse_rerank_request(body).has_value();
    ASSERT_EQ(parsed, checked.has_value()) << body;
  }
  EXPECT_GT(taken, 500);
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace corral::protocol
