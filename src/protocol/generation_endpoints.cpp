// The tables of the generating endpoints; the native ones are llama-server's.
#include "protocol/generation_fields.h"

namespace corral::protocol {
namespace {

// llama-server's own endpoint has more fields than OpenAI's reference.
constexpr auto kNativeGeneration = [] {
  auto fields = kGeneration;
  const auto field = [&](std::string_view name) -> Field& { return *std::ranges::find(fields, name, &Field::name); };
  field("temperature").max = kLarge;
  field("repeat_penalty").max = kLarge;
  for (const auto* name : {"frequency_penalty", "presence_penalty"}) {
    field(name).min = -kLarge;
    field(name).max = kLarge;
  }
  field("logit_bias").inside = check_wide_logit_bias;
  field("stream_options").about =
      "`each_token`: one event per token, even if several are ready (except parts of one character); the last event "
      "always has token counts";
  return fields;
}();

constexpr Field kPrompt = {.name = "prompt",
                           .kinds = kString | kArray | kObject,
                           .required = true,
                           .elements = kString | kInteger | kArray | kObject,
                           .inside = check_prompt,
                           .about =
                               "a text, tokens (optionally mixed with texts), an object with these (`prompt_string`), "
                               "or a list of these: one completion (or `n`) for each"};

// Further fields of llama-server's endpoints for texts.
constexpr auto kNative =
    kNativeGeneration +
    std::to_array<Field>({
        {.name = "logprobs", .kinds = kInteger, .min = 0, .max = 100, .about = "the same as `n_probs`"},
        {.name = "response_fields",
         .kinds = kArray,
         .max_size = 256,
         .elements = kString,
         .about = "only these fields of the response; `a/b`: the field `b` of `a`, under that name. Missing fields are "
                  "ignored; in a stream they apply to the last event"},
    });

}  // namespace

const FieldTable& chat_fields() {
  static constexpr auto kFields =
      kGeneration +
      std::to_array<Field>({
          {.name = "messages",
           .kinds = kArray,
           .required = true,
           .min_size = 1,
           .max_size = kMaxMessages,
           .elements = kObject,
           .inside = check_messages,
           .about = "the conversation; a last message of the assistant is continued",
           .instead = "omit old ones or join them"},
          {.name = "tools",
           .kinds = kArray,
           .max_size = kMaxTools,
           .elements = kObject,
           .inside = check_tools,
           .about = "functions that the model may call; `custom` is rejected, other types of tools are ignored",
           .instead = "offer those that this conversation needs"},
          {.name = "tool_choice",
           .kinds = kString | kObject,
           .choices = "auto|none|required",
           .inside = check_tool_choice,
           .about = "or an object with the name of one function, or some (`allowed_tools`)"},
          {.name = "parallel_tool_calls", .kinds = kBoolean, .about = "allow several calls in one response"},
          {.name = "logprobs", .kinds = kBoolean, .about = "return log probabilities of generated tokens"},
          {.name = "top_logprobs",
           .kinds = kInteger,
           .min = 0,
           .max = 20,
           .about = "number of alternatives for each token; needs `logprobs`"},
          {.name = "chat_template_kwargs",
           .kinds = kObject,
           .inside = check_template_kwargs,
           .about = "additional variables of the chat template"},
          {.name = "add_generation_prompt", .kinds = kBoolean, .about = "false: the prompt ends with the last message"},
          {.name = "continue_final_message",
           .kinds = kBoolean | kString,
           .choices = "content|reasoning_content",
           .about = "continue a last message of the assistant in any case; a stream then contains only the new text. "
                    "`content`, `reasoning_content`: continue this part; true: the part that exists"},
          {.name = "echo",
           .kinds = kBoolean,
           .about = "with `continue_final_message`: a stream starts with the continued text"},
          {.name = "reasoning_effort",
           .kinds = kString,
           .max_bytes = 64,
           .about = "for templates that support it; `none` disables thinking"},
          {.name = "reasoning_format",
           .kinds = kString,
           .choices = "none|auto|deepseek|deepseek-legacy",
           .about = "field for reasoning; `none`: it stays in the text"},
          {.name = "enable_thinking", .kinds = kBoolean, .about = "false: no thinking, if the template supports that"},
          {.name = "thinking_budget_tokens",
           .kinds = kInteger,
           .inside = decline_budget,
           .about = "only -1 is supported"},
          {.name = "reasoning_budget_tokens",
           .kinds = kInteger,
           .inside = decline_budget,
           .about = "only -1 is supported"},
          {.name = "modalities",
           .kinds = kArray,
           .elements = kString,
           .inside = check_modalities,
           .about = "only `text` is supported"},
          {.name = "functions", .kinds = kArray, .inside = decline_functions, .about = "not supported: use `tools`"},
      });
  static const FieldTable table(kFields, check_chat);
  return table;
}

const FieldTable& completion_fields() {
  static constexpr auto kFields =
      kGeneration +
      std::to_array<Field>({
          kPrompt,
          {.name = "logprobs",
           .kinds = kInteger,
           .min = 0,
           .max = 20,
           .about = "log probabilities of that many most likely tokens, in the format of completions"},
          {.name = "echo", .kinds = kBoolean, .about = "return the prompt before the completion; not with `logprobs`"},
          {.name = "suffix",
           .kinds = kString,
           .about = "the text after the gap between `prompt` and it; for models with infill tokens, and one text as "
                    "`prompt`"},
          {.name = "best_of", .kinds = kInteger, .min = 1, .max = kMaxAnswers, .about = "must be `n`"},
      });
  static const FieldTable table(kFields, check_completion);
  return table;
}

const FieldTable& native_fields() {
  static constexpr auto kFields = kNative + std::to_array<Field>({kPrompt});
  static const FieldTable table(kFields, check_native);
  return table;
}

const FieldTable& infill_fields() {
  constexpr std::size_t kMaxExtra = 1024;
  static constexpr auto kFields =
      kNative + std::to_array<Field>({
                    {.name = "input_prefix",
                     .kinds = kString | kArray,
                     .required = true,
                     .elements = kString | kInteger,
                     .inside = check_plain_prompt,
                     .about = "the text before the gap, or tokens, optionally mixed with texts"},
                    {.name = "input_suffix",
                     .kinds = kString | kArray,
                     .required = true,
                     .elements = kString | kInteger,
                     .inside = check_plain_prompt,
                     .about = "the text after the gap"},
                    {.name = "input_extra",
                     .kinds = kArray,
                     .max_size = kMaxExtra,
                     .elements = kObject,
                     .inside = check_extra,
                     .about = "other files of the project: objects with `text`, and optionally `filename`",
                     .instead = "select the relevant ones"},
                    {.name = "prompt", .kinds = kString, .about = "the start of the text in the gap"},
                });
  static const FieldTable table(kFields, check_native);
  return table;
}

}  // namespace corral::protocol
