#include "engine_server/templates/chat_template.h"

#include <gmock/gmock.h>

#include "engine/test_support.h"
#include "engine_server/templates/parser_spec.h"
#include "engine_server/test_support.h"

namespace corral::engine_server {
namespace {

protocol::ChatRequest request_of(const std::string& messages, const std::string& more = {}) {
  auto request = protocol::parse_chat_request(R"({"messages":)" + messages + more + "}");
  EXPECT_TRUE(request) << request.error().message;
  return std::move(*request);
}

const std::string kMessages[] = {
    R"([{"role":"user","content":"hello"}])",
    R"([{"role":"system","content":"Be brief."},{"role":"user","content":" spaces \n"}])",
    R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"日本語 <|im_end|>"}])",
    R"([{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}])",
    R"([{"role":"user","content":""}])",
    R"([{"role":"developer","content":"rules"},{"role":"user","content":"x"}])",
    R"([{"role":"user","content":"weather?"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"1","content":"sun"}])",
    R"([{"role":"user","content":"begin"},{"role":"assistant","content":"Once"}])",
};
const std::string kExtras[] = {
    "",
    R"(,"json_schema":{"type":"object"})",
    R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])",
    R"(,"chat_template_kwargs":{"enable_thinking":false},"reasoning_format":"none")",
    R"(,"add_generation_prompt":false)",
};

// The kept analysis gives what the library gives when it starts from the template each time.
TEST(ChatTemplate, BothWaysRenderTheSame) {
  for (const auto* model : {"tiny-llama", "tiny-qwen3", "scripted-tool-call"}) {
    const auto service = test::load(model);
    const auto quick = ChatTemplate::load(service->model(), true);
    const auto slow = ChatTemplate::load(service->model(), false);
    ASSERT_TRUE(quick && slow);
    EXPECT_EQ((*quick)->source(), (*slow)->source());
    for (const auto& messages : kMessages) {
      for (const auto& more : kExtras) {
        if (messages.find("Once") != std::string::npos && more.find("add_generation") != std::string::npos) continue;
        const auto request = request_of(messages, more);
        const auto a = (*quick)->render(request);
        const auto b = (*slow)->render(request);
        ASSERT_EQ(a.has_value(), b.has_value()) << messages << more;
        if (!a) continue;
        EXPECT_EQ(a->prompt, b->prompt) << messages << more;
        EXPECT_EQ(a->generation_prompt, b->generation_prompt);
        EXPECT_EQ(a->grammar, b->grammar);
        EXPECT_EQ(a->grammar_lazy, b->grammar_lazy);
        EXPECT_EQ(a->stops, b->stops);
        EXPECT_EQ(a->preserved_tokens, b->preserved_tokens);
        EXPECT_EQ(a->triggers.size(), b->triggers.size());
        ChatParser first(a->parser, false), second(b->parser, false);
        const std::string answer = "<think>\nhm\n</think>\n\nfine";
        first.append(answer);
        second.append(answer);
        std::vector<protocol::ChatDelta> deltas;
        ASSERT_EQ(first.finish(deltas).has_value(), second.finish(deltas).has_value());
        EXPECT_EQ(first.message().content, second.message().content);
        EXPECT_EQ(first.message().reasoning_content, second.message().reasoning_content);
      }
    }
  }
}

// Knows reasoning, as the templates of Qwen's models do.
constexpr const char* kThinking = R"({%- for m in messages %}
{{- '<|im_start|>' + m.role + '\n' }}
{%- if m.role == 'assistant' and m.reasoning_content %}{{- '<think>\n' + m.reasoning_content + '\n</think>\n\n' }}{%- endif %}
{{- m.content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}
{%- endif %})";

// Also when it comes in pieces.
TEST(ChatParser, ReasoningStandsApartFromTheAnswer) {
  engine::EngineLoadOptions options;
  options.path = engine::test::with_meta(
      "tiny-qwen3", "thinking", [](gguf_context* to) { gguf_set_val_str(to, "tokenizer.chat_template", kThinking); });
  options.n_ctx = 256;
  options.n_threads = 1;
  const auto service = engine::test::load(options);
  const auto chat_template = ChatTemplate::load(service->model());
  ASSERT_TRUE(chat_template);
  const auto rendered = (*chat_template)->render(request_of(kMessages[0]));
  ASSERT_TRUE(rendered);
  EXPECT_TRUE(rendered->prompt.ends_with("<|im_start|>assistant\n")) << rendered->prompt;
  const auto quiet = (*chat_template)->render(request_of(kMessages[0], kExtras[3]));
  ASSERT_TRUE(quiet);
  EXPECT_TRUE(quiet->prompt.ends_with("<think>\n\n</think>\n\n")) << quiet->prompt;
  const std::string answer = "<think>\nTwo  words,\nor three.\n</think>\n\nIt is <fine>.";
  for (const std::size_t step : {1u, 3u, 7u, 1000u}) {
    ChatParser pieces(rendered->parser, true);
    std::vector<protocol::ChatDelta> deltas;
    for (std::size_t at = 0; at < answer.size(); at += step)
      pieces.push(std::string_view(answer).substr(at, step), deltas);
    ASSERT_TRUE(pieces.finish(deltas));
    std::string reasoning, content;
    for (const auto& delta : deltas) {
      EXPECT_TRUE(delta.reasoning_content.empty() || content.empty()) << "reasoning comes first";
      reasoning += delta.reasoning_content;
      content += delta.content;
    }
    EXPECT_EQ(reasoning, "Two  words,\nor three.\n") << step;
    EXPECT_EQ(content, "It is <fine>.") << step;
    EXPECT_EQ(pieces.message().reasoning_content, reasoning);
    EXPECT_EQ(pieces.message().content, content);
  }
}

TEST(ChatTemplate, GoesOnWithThePartThatIsNamed) {
  engine::EngineLoadOptions options;
  options.path = engine::test::with_meta(
      "tiny-qwen3", "going-on", [](gguf_context* to) { gguf_set_val_str(to, "tokenizer.chat_template", kThinking); });
  options.n_ctx = 256;
  options.n_threads = 1;
  const auto service = engine::test::load(options);
  const auto chat_template = ChatTemplate::load(service->model());
  ASSERT_TRUE(chat_template);
  const auto prompt = [&](const std::string& last, const std::string& more) {
    const auto rendered =
        (*chat_template)
            ->render(request_of(R"([{"role":"user","content":"hello"},{"role":"assistant",)" + last + "}]",
                                R"(,"continue_final_message":)" + more));
    return rendered ? rendered->prompt : rendered.error().message;
  };
  const std::string both = R"("reasoning_content":"Hm","content":"It is")";
  EXPECT_THAT(prompt(both, "true"), testing::EndsWith("It is"));
  EXPECT_THAT(prompt(both, R"("content")"), testing::EndsWith("It is"));
  EXPECT_THAT(prompt(both, R"("reasoning_content")"), testing::EndsWith("Hm"));
  EXPECT_THAT(prompt(R"("reasoning_content":"Hm","content":"")", "true"), testing::EndsWith("Hm"));
}

// However an answer is cut into pieces, the deltas add up to the message.
TEST(ChatParser, DeltasAddUp) {
  const auto service = test::load("tiny-llama");
  const auto chat_template = ChatTemplate::load(service->model());
  ASSERT_TRUE(chat_template);
  const auto plain = (*chat_template)->render(request_of(kMessages[0]));
  const auto tools = (*chat_template)->render(request_of(kMessages[0], kExtras[2]));
  ASSERT_TRUE(plain && tools);
  const std::string answers[] = {
      "Just text, with spaces  and\n\nline ends. ",
      "a",
      "",
      " ",
      "text <tool_call>",
      "Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>",
  };
  for (const auto& rendered : {plain, tools}) {
    for (const auto& answer : answers) {
      std::vector<protocol::ChatDelta> ignored;
      ChatParser whole(rendered->parser, false);
      whole.append(answer);
      if (!whole.finish(ignored)) continue;  // not a form this template knows
      for (const std::size_t step : {1u, 3u, 7u, 1000u}) {
        ChatParser pieces(rendered->parser, true);
        std::vector<protocol::ChatDelta> deltas;
        for (std::size_t at = 0; at < answer.size(); at += step) {
          pieces.push(std::string_view(answer).substr(at, step), deltas);
        }
        ASSERT_TRUE(pieces.finish(deltas));
        std::string content, arguments, name;
        for (const auto& delta : deltas) {
          content += delta.content;
          if (!delta.tool_index) continue;
          arguments += delta.tool.arguments;
          if (!delta.tool.name.empty()) name = delta.tool.name;
        }
        EXPECT_EQ(content, whole.message().content) << answer << " by " << step;
        if (whole.message().tool_calls.empty()) {
          EXPECT_EQ(arguments, "");
        } else {
          EXPECT_EQ(name, whole.message().tool_calls[0].name);
          EXPECT_EQ(arguments, whole.message().tool_calls[0].arguments);
        }
      }
    }
  }
}

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

protocol::ChatRequest with_arguments(const std::string& arguments, const std::string& content = "4") {
  json::Value messages = *json::parse(kMessages[6]);
  messages.at(1).at("tool_calls").at(0).at("function").as_object()["arguments"] = arguments;
  messages.at(2).as_object()["content"] = content;
  return request_of(json::serialize(messages));
}

// Each bracket took some of the stack, and 60,000 took more than a thread has. What nests deeper than JSON may is text.
TEST(ChatTemplate, RendersArgumentsThatNestDeep) {
  const auto service = test::load("tiny-llama");
  const auto chat_template = ChatTemplate::load(service->model());
  ASSERT_TRUE(chat_template);
  const std::string deeper = R"({"a":)" + nested(60'000) + "}";
  const std::string deep = R"({"a":)" + nested(json::kMaxDepth - 1) + "}";
  const std::string in_a_string = R"({"a":"\\\")" + std::string(1000, '[') + R"("})";
  for (const auto& arguments : {deep, deeper, nested(60'000), in_a_string}) {
    const auto rendered = (*chat_template)->render(with_arguments(arguments, nested(60'000)));
    ASSERT_TRUE(rendered) << rendered.error().message;
    EXPECT_THAT(rendered->prompt, testing::HasSubstr(nested(60'000)));
  }
}

TEST(ChatParser, ReadsAnswersThatNestDeep) {
  const auto service = test::load("tiny-llama");
  const auto chat_template = ChatTemplate::load(service->model());
  ASSERT_TRUE(chat_template);
  const auto tools = (*chat_template)->render(request_of(kMessages[0], kExtras[2]));
  ASSERT_TRUE(tools);
  const std::string begin = R"(<tool_call>
{"name": "f", "arguments": {"a": )";
  std::vector<protocol::ChatDelta> deltas;
  ChatParser whole(tools->parser, false);
  whole.append(begin + nested(20'000) + "}}\n</tool_call>");
  ASSERT_TRUE(whole.finish(deltas));
  ASSERT_EQ(whole.message().tool_calls.size(), 1u);
  EXPECT_THAT(whole.message().tool_calls[0].arguments, testing::HasSubstr(nested(20'000)));
  ChatParser cut(tools->parser, true);
  cut.push(begin + std::string(20'000, '['), deltas);
  EXPECT_TRUE(cut.finish(deltas, true));
  auto spec = std::make_shared<ParserSpec>(*tools->parser);  // the prompt ends amid a call that nests
  spec->params.generation_prompt += begin + std::string(20'000, '[');
  spec->params.is_continuation = true;
  ChatParser going_on(spec, true);
  going_on.push(std::string(100, '['), deltas);
  EXPECT_TRUE(going_on.finish(deltas, true));
  ChatParser endless(tools->parser, false);
  endless.append(begin + std::string(300'000, '['));
  const auto refused = endless.finish(deltas, true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("at most 262144"));
}

TEST(ChatTemplate, RefusesWhatCantBeRendered) {
  const auto service = test::load("tiny-llama");
  const auto chat_template = ChatTemplate::load(service->model());
  ASSERT_TRUE(chat_template);
  const auto schema = (*chat_template)->render(request_of(kMessages[0], R"(,"json_schema":{"$ref":"#/nowhere"})"));
  ASSERT_FALSE(schema);
  EXPECT_EQ(schema.error().param, "json_schema");
}

// Members that are null, and calls without proper arguments: the library behind the field tables threw.
TEST(ChatTemplate, RendersOddValuesThatTheFieldTableTakes) {
  const std::string odd[] = {
      R"([{"role":"user","content":"x","name":null,"tool_call_id":null,"reasoning_content":null,"tool_calls":null}])",
      R"([{"role":"user","content":"x"},{"role":"assistant","refusal":"no"},{"role":"user","content":"x"}])",
      R"([{"role":"user","content":"x"},{"role":"assistant","reasoning_content":"a"},{"role":"user","content":"x"}])",
  };
  const std::string tools =
      R"(,"tools":[{"type":"function","function":{"name":"f","description":null,"parameters":null,"strict":null}}])";
  for (const auto* model : {"tiny-llama", "tiny-qwen3", "tiny-gpt-oss", "scripted-tool-call"}) {
    const auto service = test::load(model);
    const auto chat_template = ChatTemplate::load(service->model());
    ASSERT_TRUE(chat_template);
    for (const auto& messages : odd) {
      for (const auto& more : {std::string(), tools}) {
        const auto made = (*chat_template)->render(request_of(messages, more));
        EXPECT_TRUE(made) << model << messages << made.error().message;
      }
    }
    for (const auto* arguments : {R"("")", R"("null")", R"("{")", R"("[1]")", R"({"a":null})"}) {
      const auto made =
          (*chat_template)
              ->render(request_of(R"([{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[)"
                                  R"({"id":null,"type":"function","function":{"name":"f","arguments":)" +
                                      std::string(arguments) +
                                      R"(}}]},{"role":"tool","content":"4","tool_call_id":null}])",
                                  tools));
      EXPECT_TRUE(made) << model << arguments << made.error().message;
    }
  }
}

TEST(ChatTemplate, AMessageOfTheLibraryIsShort) {
  const auto service = test::load("tiny-llama");
  const auto chat_template = ChatTemplate::load(service->model());
  ASSERT_TRUE(chat_template);
  const auto type = std::string(20'000, 'x');
  const auto made = (*chat_template)->render(request_of(kMessages[0], R"(,"json_schema":{"type":")" + type + R"("})"));
  ASSERT_FALSE(made);
  EXPECT_LT(made.error().message.size(), 500u);
}

TEST(SchemaGrammar, RefusesNonsense) {
  Warnings warnings;
  EXPECT_TRUE(schema_grammar({.text = R"({"type":"string"})", .path = "json_schema"}, warnings));
  EXPECT_FALSE(schema_grammar({.text = R"({"type":"nonsense"})", .path = "json_schema"}, warnings));
}

}  // namespace
}  // namespace corral::engine_server
