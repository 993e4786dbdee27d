#include "protocol/anthropic/anthropic_fields.h"

#include <fmt/format.h>

#include "protocol/anthropic/anthropic_rules.h"
#include "protocol/errors.h"
#include "protocol/generation_fields.h"

namespace corral::protocol {
namespace {

constexpr auto kPrompt = std::to_array<Field>({
    kModelField,
    kContextField,
    {.name = "messages",
     .kinds = kArray,
     .required = true,
     .min_size = 1,
     .max_size = kMaxMessages,
     .elements = kObject,
     .inside = check_turns,
     .about =
         "the conversation; consecutive messages of one role are joined; a last message of the assistant is continued",
     .instead = "omit old ones or join them"},
    {.name = "system",
     .kinds = kString | kArray,
     .max_size = kMaxParts,
     .elements = kObject,
     .inside = check_system,
     .about = "a text or blocks of text",
     .instead = "join them"},
    {.name = "tools",
     .kinds = kArray,
     .max_size = kMaxTools,
     .elements = kObject,
     .inside = check_own_tools,
     .about = "tools with `input_schema` that the client runs; other types are ignored",
     .instead = "offer those that this conversation needs"},
    {.name = "tool_choice",
     .kinds = kObject,
     .inside = check_choice_of_tool,
     .about = "`type`: `auto`, `any`, `tool` (with `name`) or `none`; `disable_parallel_tool_use`: one call at most"},
    {.name = "thinking",
     .kinds = kObject,
     .inside = check_thinking,
     .about = "`type`: `enabled`, `adaptive` and `between_tools` enable thinking and return it, `disabled` (the "
              "default) disables it, if the template can. `display`: `omitted` returns blocks without text. "
              "`budget_tokens` has no effect"},
    {.name = "output_config",
     .kinds = kObject,
     .inside = check_output_config,
     .about = "`effort`, for templates that support it; `format`: `json_schema` with `schema`"},
    {.name = "output_format",
     .kinds = kObject,
     .inside = check_output_format,
     .about = "the same as `output_config.format`"},
});

constexpr auto kAnswer = std::to_array<Field>({
    {.name = "max_tokens",
     .kinds = kInteger,
     .required = true,
     .min = 0,
     .max = kMaxUint32,
     .about = "maximum number of generated tokens; 0: only compute the prompt, for later requests"},
    kStreamField,
    {.name = "stop_sequences",
     .kinds = kArray,
     .max_size = kMaxStops,
     .max_bytes = kMaxStopBytes,
     .elements = kString,
     .about = "generation ends before the first of these",
     .instead = "they are searched at every token, so use few and short ones"},
    kTemperatureField,
    kTopPField,
    kTopKField,
    {.name = "metadata", .kinds = kObject, .inside = check_metadata, .about = "`user_id` has no effect"},
    {.name = "service_tier", .kinds = kString, .about = "no effect: there is only one"},
});

}  // namespace

const FieldTable& messages_fields() {
  static constexpr auto kFields = kPrompt + kAnswer;
  static const FieldTable table(kFields, check_chosen_own_tool);
  return table;
}

const FieldTable& count_tokens_fields() {
  static const FieldTable table(kPrompt, check_chosen_own_tool);
  return table;
}

}  // namespace corral::protocol
