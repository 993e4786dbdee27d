#include "protocol/responses/responses_fields.h"

#include <fmt/format.h>

#include "protocol/field_parts.h"
#include "protocol/responses/responses_rules.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

// A field that is only returned with the answer.
constexpr Field label(std::string_view name) {
  return {.name = name, .kinds = kString, .max_bytes = 512, .about = "no effect", .instead = "make it shorter"};
}

constexpr Field kInput = {
    .name = "input",
    .kinds = kString | kArray,
    .max_size = kMaxMessages,
    .elements = kObject,
    .inside = check_items,
    .about =
        "the message of the user, or the items of the conversation; items of tools that run at OpenAI are ignored. "
        "Required without `conversation` and `previous_response_id`",
    .instead = "omit old ones or join them"};
constexpr Field kInstructions = {
    .name = "instructions", .kinds = kString, .about = "a system message before the conversation"};
constexpr Field kPrevious = {.name = "previous_response_id",
                             .kinds = kString,
                             .min_size = 1,
                             .max_bytes = kLongestId,
                             .about = "a stored response: its conversation comes before `input`"};
constexpr Field kMetadata = {.name = "metadata",
                             .kinds = kObject,
                             .inside = check_response_metadata,
                             .about = "up to 16 strings with names; returned with it"};
// OpenAI's limit of items that are added at once.
constexpr Field kFirstItems = {.name = "items",
                               .kinds = kArray,
                               .max_size = 20,
                               .elements = kObject,
                               .inside = check_kept_items,
                               .about = "as in `input` of responses, but no references to other items",
                               .instead = "add them in several requests"};

}  // namespace

const FieldTable& responses_fields() {
  static constexpr auto kFields = std::to_array<Field>({
      kModelField,
      kContextField,
      kInput,
      kInstructions,
      kStreamField,
      {.name = "max_output_tokens",
       .kinds = kInteger,
       .min = 1,
       .max = kMaxUint32,
       .about = "maximum number of generated tokens, including reasoning"},
      kTemperatureField,
      kTopPField,
      kFrequencyPenaltyField,
      kPresencePenaltyField,
      {.name = "tools",
       .kinds = kArray,
       .max_size = kMaxTools,
       .elements = kObject,
       .inside = check_response_tools,
       .about = "`function`, `custom` and `namespace` of these; other types are ignored",
       .instead = "offer those that this conversation needs"},
      {.name = "tool_choice",
       .kinds = kString | kObject,
       .choices = "auto|none|required",
       .inside = check_response_choice,
       .about = "or an object with the name of a `function` or a `custom` tool, or some (`allowed_tools`)"},
      {.name = "parallel_tool_calls", .kinds = kBoolean, .about = "allow several calls in one response"},
      {.name = "text",
       .kinds = kObject,
       .inside = check_text_options,
       .about = "`format`: `text`, `json_object` or `json_schema`"},
      {.name = "reasoning",
       .kinds = kObject,
       .inside = check_reasoning_options,
       .about = "`effort`, for templates that support it; `none` disables thinking. With `summary` (`auto`, `concise` "
                "or `detailed`) the reasoning is returned as the summary"},
      {.name = "metadata",
       .kinds = kObject,
       .inside = check_response_metadata,
       .about = "up to 16 strings with names; returned with the response"},
      {.name = "max_tool_calls", .kinds = kInteger, .about = "no effect: it applies to tools that run at OpenAI"},
      label("user"),
      label("safety_identifier"),
      label("prompt_cache_key"),
      {.name = "include",
       .kinds = kArray,
       .max_size = 32,
       .elements = kString,
       .about = "`message.output_text.logprobs`; others have no effect",
       .instead = "omit fields without effect"},
      {.name = "top_logprobs",
       .kinds = kInteger,
       .min = 0,
       .max = 20,
       .about = "that many most likely tokens for each token; implies `logprobs`"},
      {.name = "store",
       .kinds = kBoolean,
       .about = "store the response, so that it can be read and continued; default: true if storage is available"},
      kPrevious,
      {.name = "conversation",
       .kinds = kString | kObject,
       .min_size = 1,
       .max_bytes = kLongestId,
       .inside = check_conversation,
       .about = "the ID of a conversation from `POST conversations`, or an object with its `id`: its items come before "
                "`input`; `input` and the response are added to it"},
      {.name = "background",
       .kinds = kBoolean,
       .about = "generate the response even if no client waits: read it by its ID; needs `store`"},
      {.name = "prompt",
       .kinds = kObject,
       .inside = decline_prompt,
       .about = "not supported: there are no saved prompts"},
  });
  static const FieldTable table(kFields, check_response);
  return table;
}

const FieldTable& compaction_fields() {
  static constexpr auto kFields = std::to_array<Field>({
      [] {
        auto field = kModelField;
        field.required = true;
        field.about = "the model, which writes the summary";
        return field;
      }(),
      kContextField,
      [] {
        auto field = kInput;
        field.about = "the items of the conversation. Required without `previous_response_id`";
        return field;
      }(),
      kInstructions,
      kPrevious,
      label("prompt_cache_key"),
  });
  static const FieldTable table(kFields, check_compaction);
  return table;
}

const FieldTable& conversation_fields() {
  static constexpr auto kFields = std::to_array<Field>({kFirstItems, kMetadata});
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& conversation_change_fields() {
  static constexpr auto kFields = std::to_array<Field>({[] {
    auto field = kMetadata;
    field.required = true;
    return field;
  }()});
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& conversation_items_fields() {
  static constexpr auto kFields = std::to_array<Field>({[] {
    auto field = kFirstItems;
    field.required = true;
    field.min_size = 1;
    return field;
  }()});
  static const FieldTable table(kFields);
  return table;
}

Item item_of(json::View item) {
  const auto type = item.find("type").as_string();
  if (type.empty()) return Item::message;
  struct Row {
    std::string_view type;
    Item item;
  };
  static constexpr Row kRows[] = {
      {"message", Item::message},
      {"function_call", Item::function_call},
      {"function_call_output", Item::function_output},
      {"custom_tool_call", Item::custom_call},
      {"custom_tool_call_output", Item::custom_output},
      {"reasoning", Item::reasoning},
      {"item_reference", Item::reference},
      {"compaction", Item::compaction},
  };
  const auto* const row = std::ranges::find(kRows, type, &Row::type);
  return row == std::end(kRows) ? Item::foreign : row->item;
}

namespace {

constexpr std::string_view kCompacted = "corral:summary:";

}  // namespace

std::string compacted(std::string_view summary) { return std::string(kCompacted).append(summary); }

std::optional<std::string_view> summary_in(std::string_view compacted) {
  if (!compacted.starts_with(kCompacted)) return std::nullopt;
  return compacted.substr(kCompacted.size());
}

Tool tool_of(json::View tool) {
  const auto type = tool.find("type").as_string();
  if (type == "function") return Tool::function;
  if (type == "custom") return Tool::custom;
  return type == "namespace" ? Tool::name_space : Tool::foreign;
}

std::string name_in(std::string_view name_space, std::string_view name) {
  return name_space.empty() ? std::string(name) : fmt::format("{}__{}", name_space, name);
}

}  // namespace corral::protocol
