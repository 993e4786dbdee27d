// Items of a response's `output`, as JSON. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "dialects/responses/read.h"
#include "json/writer.h"
#include "protocol/answers/answers.h"

namespace corral::dialects::responses {

// `summary`: thoughts of a request with the option reasoning.summary.
enum class ItemKind { none, reasoning, summary, message, call };

// The names of an item's one part in events with text.
struct TextEvents {
  std::string_view part;   // "content_part"
  std::string_view text;   // "output_text"
  std::string_view index;  // the part's place in its item: "content_index"
};
TextEvents text_events(ItemKind kind);

// One item, as far as it has come.
struct OutputItem {
  ItemKind kind = ItemKind::none;
  std::string id = {};
  std::string text = {};      // of a message or a thought; a call's arguments
  std::string logprobs = {};  // of a message's tokens, JSON without the brackets
  std::string call_id = {};   // of a call
  NamedTool tool = {};        // of a call, as the client named it
};

// The client's tool with the name that the model used.
NamedTool tool_named(const ResponseFacts& facts, std::string_view name);
// The text for a custom tool, from arguments that should be an object with it.
std::string custom_input(const std::string& arguments);

// The state of an item. `incomplete`: the answer ended within it.
enum class ItemStatus { in_progress, completed, incomplete };

// An item in progress is written without its content.
void write_item(json::Writer& out, const OutputItem& item, ItemStatus status);
// The part of a message or a thought.
void write_part(json::Writer& out, ItemKind kind, std::string_view text, std::string_view logprobs = {});
// "logprobs", in the open object of `out`.
void write_logprobs(json::Writer& out, std::string_view logprobs);
void write_usage(json::Writer& out, const protocol::Usage& usage);

}  // namespace corral::dialects::responses
