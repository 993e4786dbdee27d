#include "protocol/responses_fields.h"

#include <fmt/format.h>

#include "protocol/field_parts.h"
#include "protocol/responses_rules.h"
#include "protocol/rules.h"

namespace corral::protocol {
namespace {

// What only comes back with the answer.
constexpr Field label(std::string_view name) {
  return {.name = name, .kinds = kString, .max_bytes = 512, .about = "no effect", .instead = "make it shorter"};
}

constexpr Field kMetadata = {.name = "metadata",
                             .kinds = kObject,
                             .inside = check_response_metadata,
                             .about = "up to 16 texts, each with a name; comes back with it"};
// OpenAI's number of items that are added at once.
constexpr Field kFirstItems = {.name = "items",
                               .kinds = kArray,
                               .max_size = 20,
                               .elements = kObject,
                               .inside = check_kept_items,
                               .about = "as in `input` of responses, but none that refers to another",
                               .instead = "add them in several requests"};

}  // namespace

const FieldTable& responses_fields() {
  static constexpr auto kFields = std::to_array<Field>({
      kModelField,
      kContextField,
      {.name = "input",
       .kinds = kString | kArray,
       .max_size = kMaxMessages,
       .elements = kObject,
       .inside = check_items,
       .about = "what the user says, or the items of the conversation; items of tools that run at OpenAI are left out. "
                "Required without `conversation` and `previous_response_id`",
       .instead = "leave old ones out or join them"},
      {.name = "instructions", .kinds = kString, .about = "a system message in front of the conversation"},
      kStreamField,
      {.name = "max_output_tokens",
       .kinds = kInteger,
       .min = 1,
       .max = kMaxUint32,
       .about = "most tokens of an answer, thoughts included"},
      kTemperatureField,
      kTopPField,
      {.name = "tools",
       .kinds = kArray,
       .max_size = kMaxTools,
       .elements = kObject,
       .inside = check_response_tools,
       .about = "`function`, `custom` and `namespace` of these; other types are left out",
       .instead = "offer those that this conversation needs"},
      {.name = "tool_choice",
       .kinds = kString | kObject,
       .choices = "auto|none|required",
       .inside = check_response_choice,
       .about = "or an object that names a `function` or a `custom` tool, or some (`allowed_tools`)"},
      {.name = "parallel_tool_calls", .kinds = kBoolean, .about = "several calls in one answer"},
      {.name = "text",
       .kinds = kObject,
       .inside = check_text_options,
       .about = "`format`: `text`, `json_object` or `json_schema`"},
      {.name = "reasoning",
       .kinds = kObject,
       .inside = check_reasoning_options,
       .about =
           "`effort`, for templates that know it; `none` switches thinking off. With `summary` (`auto`, `concise` or "
           "`detailed`) the thoughts come as the summary"},
      {.name = "metadata",
       .kinds = kObject,
       .inside = check_response_metadata,
       .about = "up to 16 texts, each with a name; comes back with the answer"},
      {.name = "max_tool_calls", .kinds = kInteger, .about = "no effect: it is about tools that run at OpenAI"},
      label("user"),
      label("safety_identifier"),
      label("prompt_cache_key"),
      {.name = "include",
       .kinds = kArray,
       .max_size = 32,
       .elements = kString,
       .about = "`message.output_text.logprobs`; others have no effect",
       .instead = "leave out what has no effect"},
      {.name = "top_logprobs",
       .kinds = kInteger,
       .min = 0,
       .max = 20,
       .about = "so many of the likeliest tokens at each place; brings `logprobs` along"},
      {.name = "store",
       .kinds = kBoolean,
       .about = "whether the answer is kept, so that it can be got and gone on from; true where nothing is said and it "
                "can be kept"},
      {.name = "previous_response_id",
       .kinds = kString,
       .min_size = 1,
       .max_bytes = kLongestId,
       .about = "an answer that was kept: its conversation stands in front of `input`"},
      {.name = "conversation",
       .kinds = kString | kObject,
       .min_size = 1,
       .max_bytes = kLongestId,
       .inside = check_conversation,
       .about = "one that was made with `POST conversations`, or an object with its `id`: its items stand in front of "
                "`input`; `input` and the answer are added to it"},
      {.name = "background",
       .kinds = kBoolean,
       .about = "the answer is made whoever waits for it: get it by its id; needs `store`"},
      {.name = "prompt", .kinds = kObject, .inside = decline_prompt, .about = "refused: there are no saved prompts"},
  });
  static const FieldTable table(kFields, check_response);
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
  };
  const auto* const row = std::ranges::find(kRows, type, &Row::type);
  return row == std::end(kRows) ? Item::foreign : row->item;
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
