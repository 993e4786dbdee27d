#include "protocol/answers/piece.h"

#include <algorithm>
#include <limits>

#include "json/lone_surrogates.h"
#include "json/peek.h"
#include "protocol/http_error.h"

namespace corral::protocol {
namespace {

using json::View;

std::uint32_t small(View number) {
  constexpr std::int64_t kMax = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number.as_integer(), 0, kMax));
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
  ChoicePiece piece{.index = small(choice.find("index")),
                    .finish_reason = text_of(choice, "finish_reason"),
                    .stopping_word = text_of(choice, "stopping_word")};
  if (const auto tokens = choice.find("logprobs").find("content"); !tokens.empty()) piece.logprobs = tokens.text();
  auto message = choice.find("delta");
  if (!message.is_object()) message = choice.find("message");
  if (!message.is_object()) {
    piece.content = text_of(choice, "text");
    return piece;
  }
  piece.content = text_of(message, "content");
  piece.reasoning = text_of(message, "reasoning_content");
  message.find("tool_calls").each_element([&](View tool) {
    piece.tools.push_back(tool_of(tool, static_cast<std::uint32_t>(piece.tools.size())));
  });
  return piece;
}

Usage usage_of(View usage) {
  return {.prompt_tokens = small(usage.find("prompt_tokens")),
          .cached_tokens = small(usage.find("prompt_tokens_details").find("cached_tokens")),
          .completion_tokens = small(usage.find("completion_tokens"))};
}

Timings timings_of(View timings) {
  Timings read;
  timings.each_member([&](std::string_view name, View value) {
    if (name == "cache_n") read.cache_n = small(value);
    if (name == "prompt_n") read.prompt_n = small(value);
    if (name == "prompt_ms") read.prompt_ms = value.as_number();
    if (name == "predicted_n") read.predicted_n = small(value);
    if (name == "predicted_ms") read.predicted_ms = value.as_number();
  });
  return read;
}

// An event has no status; its type determines one.
unsigned status_of(View error) {
  const auto type = error.find("type").as_string();
  if (type == kContextSizeType) return 400;
  const auto rows = status_table();
  const auto row = std::ranges::find(rows, type, &StatusRow::openai_type);
  return row == rows.end() ? 500 : row->status;
}

}  // namespace

Result<AnswerPiece> read_answer(const std::string& text) {
  auto peek = json::Peek::open(text);
  if (!peek) {
    auto copy = text;
    if (json::replace_lone_surrogates(copy)) peek = json::Peek::open(std::move(copy));
  }
  if (!peek) return std::unexpected(peek.error());
  const auto root = peek->root();
  AnswerPiece piece;
  View error;
  root.each_member([&](std::string_view name, View value) {
    if (value.is_null()) return;
    if (name == "id") piece.id = value.as_string();
    if (name == "model") piece.model = value.as_string();
    if (name == "created") piece.created = value.as_integer();
    if (name == "error") error = value;
    if (name == "choices") value.each_element([&](View choice) { piece.choices.push_back(choice_of(choice)); });
    if (name == "data")
      value.each_element([&](View data) { piece.embeddings.push_back(data.find("embedding").text()); });
    if (name == "usage" && value.is_object()) piece.usage = usage_of(value);
    if (name == "input_tokens") piece.usage = Usage{.prompt_tokens = small(value)};
    if (name == "timings" && value.is_object()) piece.timings = timings_of(value);
  });
  if (!error.is_null()) {
    piece.choices.clear();
    piece.failure = parse_error_body(status_of(error), text);
  }
  return piece;
}

}  // namespace corral::protocol
