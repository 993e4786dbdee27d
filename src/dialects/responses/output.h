// Items of a response's `output`, as JSON. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "dialects/responses/read.h"
#include "json/writer.h"
#include "protocol/answers.h"

namespace corral::dialects::responses {

// `summary`: thoughts of a request that asks for a summary of them.
enum class ItemKind { none, reasoning, summary, message, call };

// How events name the one part of an item with a text.
struct TextEvents {
  std::string_view part;   // "content_part"
  std::string_view text;   // "output_text"
  std::string_view index;  // the part's place in its item: "content_index"
};
TextEvents text_events(ItemKind kind);

// One item: what has come of it.
struct OutputItem {
  ItemKind kind = ItemKind::none;
  std::string id = {};
  std::string text = {};      // of a message or a thought; a call's arguments
  std::string logprobs = {};  // of a message's tokens, JSON without the brackets
  std::string call_id = {};   // of a call
  NamedTool tool = {};        // of a call, as the client named it
};

// The tool that a model meant by this name.
NamedTool tool_named(const ResponseFacts& facts, std::string_view name);
// The text that a custom tool is called with, of arguments that should be an object with it.
std::string custom_input(const std::string& arguments);

// How far an item has come. `incomplete`: the answer ended in it.
enum class ItemStatus { in_progress, completed, incomplete };

// One that is in progress only begins: its content isn't told.
void write_item(json::Writer& out, const OutputItem& item, ItemStatus status);
// The part that a message or a thought has.
void write_part(json::Writer& out, ItemKind kind, std::string_view text, std::string_view logprobs = {});
// "logprobs", in an object that `out` is in.
void write_logprobs(json::Writer& out, std::string_view logprobs);
void write_usage(json::Writer& out, const protocol::Usage& usage);

}  // namespace corral::dialects::responses
