#include "dialects/responses/output.h"

#include <algorithm>
#include <array>
#include <optional>

#include "json/lone_surrogates.h"
#include "json/peek.h"

namespace corral::dialects::responses {
namespace {

using namespace std::string_view_literals;

// In the order of ItemStatus.
constexpr auto kStatuses = std::to_array<std::string_view>({"in_progress", "completed", "incomplete"});

}  // namespace

TextEvents text_events(ItemKind kind) {
  if (kind == ItemKind::summary) return {"reasoning_summary_part", "reasoning_summary_text", "summary_index"};
  return {"content_part", kind == ItemKind::reasoning ? "reasoning_text" : "output_text", "content_index"};
}

NamedTool tool_named(const ResponseFacts& facts, std::string_view name) {
  const auto found = facts.tools.find(name);
  return found == facts.tools.end() ? NamedTool{.name = std::string(name)} : found->second;
}

namespace {

std::optional<std::string> input_in(std::string object) {
  json::replace_lone_surrogates(object);
  const auto peek = json::Peek::open(object);
  if (!peek || !peek->root().find("input").is_string()) return std::nullopt;
  return std::string(peek->root().find("input").as_string());
}

// Whether the text ends with an escape such as \uD83D, which needs another one behind it.
bool ends_in_half(std::string_view text) {
  const auto end = text.substr(text.size() - std::min<std::size_t>(text.size(), 6));
  return (end.starts_with("\\ud") || end.starts_with("\\uD")) && end.size() == 6 && "89abAB"sv.contains(end[3]);
}

}  // namespace

std::string custom_input(const std::string& arguments) {
  if (auto whole = input_in(arguments)) return *whole;
  // The arguments may be cut off within the text, or within a character of it that is written as \uD83D\uDE00.
  constexpr std::size_t kEscape = 6, kLongest = 2 * kEscape;
  for (std::size_t less = 0; less <= std::min(kLongest, arguments.size()); ++less) {
    const auto known = arguments.substr(0, arguments.size() - less);
    if (less < kEscape && ends_in_half(known)) continue;
    if (auto begun = input_in(known + "\"}")) return *begun;
  }
  return {};  // before it began
}

void write_logprobs(json::Writer& out, std::string_view logprobs) {
  out.key("logprobs").begin_array();
  if (!logprobs.empty()) out.raw(logprobs);
  out.end_array();
}

void write_part(json::Writer& out, ItemKind kind, std::string_view text, std::string_view logprobs) {
  out.begin_object();
  if (kind == ItemKind::reasoning || kind == ItemKind::summary) {
    out.field("type", kind == ItemKind::summary ? "summary_text" : "reasoning_text").field("text", text);
  } else {
    out.field("type", "output_text").key("annotations").begin_array().end_array();
    write_logprobs(out, logprobs);
    out.field("text", text);
  }
  out.end_object();
}

void write_item(json::Writer& out, const OutputItem& item, ItemStatus how_far) {
  const bool done = how_far != ItemStatus::in_progress;
  const auto status = kStatuses[static_cast<std::size_t>(how_far)];
  out.begin_object().field("id", item.id);
  switch (item.kind) {
    case ItemKind::reasoning:
    case ItemKind::summary:
      out.field("type", "reasoning");
      for (const auto kind : {ItemKind::summary, ItemKind::reasoning}) {
        out.key(kind == ItemKind::summary ? "summary" : "content").begin_array();
        if (done && item.kind == kind) write_part(out, kind, item.text);
        out.end_array();
      }
      out.field("status", status);
      break;
    case ItemKind::message:
    case ItemKind::none:
      out.field("type", "message").field("status", status).field("role", "assistant").key("content").begin_array();
      if (done) write_part(out, item.kind, item.text, item.logprobs);
      out.end_array();
      break;
    case ItemKind::call: {
      const bool custom = item.tool.custom;
      out.field("type", custom ? "custom_tool_call" : "function_call").field("status", status);
      out.field("call_id", item.call_id).field("name", item.tool.name);
      if (!item.tool.name_space.empty()) out.field("namespace", item.tool.name_space);
      const auto arguments = !done ? std::string() : custom ? custom_input(item.text) : item.text;
      out.field(custom ? "input" : "arguments", arguments);
      break;
    }
  }
  out.end_object();
}

void write_usage(json::Writer& out, const protocol::Usage& usage) {
  const auto cached = std::min(usage.cached_tokens, usage.prompt_tokens);
  out.begin_object().field("input_tokens", usage.prompt_tokens);
  out.key("input_tokens_details").begin_object().field("cache_write_tokens", 0).field("cached_tokens", cached);
  out.end_object();
  out.field("output_tokens", usage.completion_tokens);
  // Tokens of thoughts aren't counted separately.
  out.key("output_tokens_details").begin_object().field("reasoning_tokens", 0).end_object();
  out.field("total_tokens", std::uint64_t{usage.prompt_tokens} + usage.completion_tokens).end_object();
}

}  // namespace corral::dialects::responses
