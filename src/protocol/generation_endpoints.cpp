// The tables of the endpoints that generate; those of the native one are llama-server's.
#include "protocol/generation_fields.h"

namespace corral::protocol {
namespace {

// llama-server's own endpoint takes more than OpenAI's reference has.
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
      "`each_token`: tokens that are there together come in an event each, but for those that make one character; the "
      "last event counts tokens anyway";
  return fields;
}();

constexpr Field kPrompt = {.name = "prompt",
                           .kinds = kString | kArray | kObject,
                           .required = true,
                           .elements = kString | kInteger | kArray | kObject,
                           .inside = check_prompt,
                           .about =
                               "a text, tokens (texts may stand between them), an object with such "
                               "(`prompt_string`), or a list of these: one answer (or `n`) to each"};

// What llama-server's endpoints for texts have beside that.
constexpr auto kNative =
    kNativeGeneration +
    std::to_array<Field>({
        {.name = "logprobs", .kinds = kInteger, .min = 0, .max = 100, .about = "the same as `n_probs`"},
        {.name = "response_fields",
         .kinds = kArray,
         .max_size = 256,
         .elements = kString,
         .about = "only these members of the answer; `a/b`: the member `b` of `a`, under that name. What "
                  "there isn't is left out; in a stream they count for the last event"},
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
           .about = "the conversation; a last message of the assistant is gone on with",
           .instead = "leave old ones out or join them"},
          {.name = "tools",
           .kinds = kArray,
           .max_size = kMaxTools,
           .elements = kObject,
           .inside = check_tools,
           .about = "functions that may be called; `custom` is refused, other types of tools are left out",
           .instead = "offer those that this conversation needs"},
          {.name = "tool_choice",
           .kinds = kString | kObject,
           .choices = "auto|none|required",
           .inside = check_tool_choice,
           .about = "or an object that names one function, or some (`allowed_tools`)"},
          {.name = "parallel_tool_calls", .kinds = kBoolean, .about = "several calls in one answer"},
          {.name = "logprobs", .kinds = kBoolean, .about = "log probabilities of the answer's tokens"},
          {.name = "top_logprobs",
           .kinds = kInteger,
           .min = 0,
           .max = 20,
           .about = "so many alternatives to each token; needs `logprobs`"},
          {.name = "chat_template_kwargs",
           .kinds = kObject,
           .inside = check_template_kwargs,
           .about = "further variables of the chat template"},
          {.name = "add_generation_prompt", .kinds = kBoolean, .about = "false: the prompt ends with the last message"},
          {.name = "continue_final_message",
           .kinds = kBoolean | kString,
           .choices = "content|reasoning_content",
           .about =
               "a last message of the assistant is gone on with anyway; where it is said, a stream holds only what "
               "is new. `content`, `reasoning_content`: this part of it; true: the part that is there"},
          {.name = "echo",
           .kinds = kBoolean,
           .about = "with `continue_final_message`: a stream begins with what it goes on with"},
          {.name = "reasoning_effort",
           .kinds = kString,
           .max_bytes = 64,
           .about = "for templates that know it; `none` switches thinking off"},
          {.name = "reasoning_format",
           .kinds = kString,
           .choices = "none|auto|deepseek|deepseek-legacy",
           .about = "where thoughts go; `none`: they stay in the text"},
          {.name = "enable_thinking", .kinds = kBoolean, .about = "false: no thoughts, if the template can do without"},
          {.name = "thinking_budget_tokens",
           .kinds = kInteger,
           .inside = decline_budget,
           .about = "refused but for -1"},
          {.name = "reasoning_budget_tokens",
           .kinds = kInteger,
           .inside = decline_budget,
           .about = "refused but for -1"},
          {.name = "modalities",
           .kinds = kArray,
           .elements = kString,
           .inside = check_modalities,
           .about = "anything but `text` is refused"},
          {.name = "functions", .kinds = kArray, .inside = decline_functions, .about = "refused; use `tools`"},
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
           .about = "log probabilities of the so many likeliest tokens, in the shape of completions"},
          {.name = "echo", .kinds = kBoolean, .about = "the prompt stands before the answer; not with `logprobs`"},
          {.name = "suffix",
           .kinds = kString,
           .about = "what stands behind the gap between it and `prompt`, which is filled; for models with tokens "
                    "for that, and one text as `prompt`"},
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
                     .about = "what stands before the gap: a text, or tokens between which texts may stand"},
                    {.name = "input_suffix",
                     .kinds = kString | kArray,
                     .required = true,
                     .elements = kString | kInteger,
                     .inside = check_plain_prompt,
                     .about = "what stands behind it"},
                    {.name = "input_extra",
                     .kinds = kArray,
                     .max_size = kMaxExtra,
                     .elements = kObject,
                     .inside = check_extra,
                     .about = "other pieces of the project: objects with `text`, and `filename` if it has one",
                     .instead = "name those that are of use here"},
                    {.name = "prompt", .kinds = kString, .about = "how the gap begins"},
                });
  static const FieldTable table(kFields, check_native);
  return table;
}

}  // namespace corral::protocol
