#include "protocol/piece.h"

#include <algorithm>
#include <limits>

#include "json/peek.h"
#include "protocol/http_error.h"

namespace corral::protocol {
namespace {

using json::View;

std::uint32_t small(View number) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number.as_integer(), 0, kMost));
}

std::string text_of(View object, std::string_view name) { return std::string(object.find(name).as_string()); }

ToolPiece tool_of(View tool, std::uint32_t place) {
  const auto function = tool.find("function");
  const auto index = tool.find("index");
  return {
      .index = index.is_null() ? place : small(index),
      .call = {
          .id = text_of(tool, "id"), .name = text_of(function, "name"), .arguments = text_of(function, "arguments")}};
}

ChoicePiece choice_of(View choice) {
  ChoicePiece piece{.index = small(choice.find("index")), .finish_reason = text_of(choice, "finish_reason")};
  auto said = choice.find("delta");
  if (!said.is_object()) said = choice.find("message");
  if (!said.is_object()) {
    piece.content = text_of(choice, "text");
    return piece;
  }
  piece.content = text_of(said, "content");
  piece.reasoning = text_of(said, "reasoning_content");
  said.find("tool_calls").each_element([&](View tool) {
    piece.tools.push_back(tool_of(tool, static_cast<std::uint32_t>(piece.tools.size())));
  });
  return piece;
}

Usage usage_of(View usage) {
  return {.prompt_tokens = small(usage.find("prompt_tokens")),
          .cached_tokens = small(usage.find("prompt_tokens_details").find("cached_tokens")),
          .completion_tokens = small(usage.find("completion_tokens"))};
}

// An event has no status of its own; its type stands for one.
unsigned status_of(View error) {
  const auto type = error.find("type").as_string();
  const auto rows = status_table();
  const auto row = std::ranges::find(rows, type, &StatusRow::openai_type);
  return row == rows.end() ? 500 : row->status;
}

}  // namespace

Result<AnswerPiece> read_answer(const std::string& text) {
  const auto peek = json::Peek::open(text);
  if (!peek) return std::unexpected(peek.error());
  const auto root = peek->root();
  AnswerPiece piece;
  if (const auto error = root.find("error"); !error.is_null()) {
    piece.failure = parse_error_body(status_of(error), text);
    return piece;
  }
  root.find("choices").each_element([&](View choice) { piece.choices.push_back(choice_of(choice)); });
  if (const auto usage = root.find("usage"); usage.is_object()) piece.usage = usage_of(usage);
  return piece;
}

}  // namespace corral::protocol
