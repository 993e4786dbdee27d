#include "engine_server/chat_template.h"

#include <gmock/gmock.h>

#include "engine/test_support.h"
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
  engine::LoadOptions options;
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
  engine::LoadOptions options;
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

TEST(ChatTemplate, RefusesWhatCantBeRendered) {
  const auto service = test::load("tiny-llama");
  const auto chat_template = ChatTemplate::load(service->model());
  ASSERT_TRUE(chat_template);
  const auto schema = (*chat_template)->render(request_of(kMessages[0], R"(,"json_schema":{"$ref":"#/nowhere"})"));
  ASSERT_FALSE(schema);
  EXPECT_EQ(schema.error().param, "json_schema");
}

TEST(SchemaGrammar, RefusesNonsense) {
  Warnings warnings;
  EXPECT_TRUE(schema_grammar({.text = R"({"type":"string"})", .path = "json_schema"}, warnings));
  EXPECT_FALSE(schema_grammar({.text = R"({"type":"nonsense"})", .path = "json_schema"}, warnings));
}

}  // namespace
}  // namespace corral::engine_server
