#include "dialects/anthropic/conversation.h"

#include <string>
#include <string_view>
#include <utility>

#include "dialects/anthropic/billing_line.h"

namespace corral::dialects::anthropic {
namespace {

using json::View;
using protocol::Block;

Block kind_of(View block) { return protocol::block_of(block.find("type").as_string()); }

}  // namespace

void Conversation::system(View prompt) {
  turns_.system();
  if (prompt.is_string()) system_text(prompt);
  prompt.each_element([&](View block) { system_text(block.find("text")); });
}

void Conversation::system_text(View text) {
  if (!has_billing_line(text.as_string())) return turns_.text(text);
  std::string quoted;
  json::append_quoted(quoted, without_billing_lines(text.as_string()));
  auto peek = json::Peek::open(std::move(quoted));
  if (!peek) return;
  texts_.push_back(std::move(*peek));
  turns_.text(texts_.back().root());
}

void Conversation::turn(View message) {
  const auto role = message.find("role").as_string();
  const auto content = message.find("content");
  if (role == "system") return system(content);
  const bool assistant = role == "assistant";
  if (content.is_string()) {
    assistant ? turns_.assistant() : turns_.user();
    turns_.text(content);
  }
  // Tool results come before other texts of the same message: they belong to the calls.
  if (!assistant) {
    content.each_element([&](View block) {
      if (kind_of(block) == Block::tool_result) result(block);
    });
  }
  content.each_element([&](View block) {
    const auto kind = kind_of(block);
    assistant ? assistant_block(kind, block) : user_block(kind, block);
  });
  if (!assistant && content.is_array() && content.empty()) turns_.user();
}

void Conversation::user_block(Block kind, View block) {
  if (kind == Block::tool_result || kind == Block::foreign) return;
  turns_.user();
  add(kind, block);
}

void Conversation::assistant_block(Block kind, View block) {
  if (kind == Block::foreign) return;
  turns_.assistant();
  if (kind == Block::thinking) turns_.thought(block.find("thinking"));
  if (kind == Block::text) add(kind, block);
  if (kind == Block::tool_use)
    turns_.call(block.find("id"), block.find("name").as_string(), block.find("input").text());
}

void Conversation::result(View block) {
  turns_.result(block.find("tool_use_id"), block.find("is_error").as_bool() ? "Error: " : "", [&] {
    const auto inside = block.find("content");
    if (inside.is_string()) turns_.text(inside);
    inside.each_element([&](View part) { add(kind_of(part), part); });
  });
}

void Conversation::add(Block kind, View block) {
  switch (kind) {
    case Block::text:
      return turns_.text(block.find("text"));
    case Block::image:
      return add_image(block.find("source"));
    case Block::document:
      return add_document(block);
    case Block::search_result:
      turns_.text(block.find("source"));
      turns_.text(block.find("title"));
      return block.find("content").each_element([&](View text) { turns_.text(text.find("text")); });
    default:
      return;
  }
}

void Conversation::add_image(View source) {
  if (source.find("type").as_string() == "url") return turns_.image(source.find("url"));
  turns_.image(source.find("media_type"), source.find("data"));
}

void Conversation::add_document(View block) {
  turns_.text(block.find("title"));
  turns_.text(block.find("context"));
  const auto source = block.find("source");
  if (source.find("type").as_string() == "text") return turns_.text(source.find("data"));
  const auto content = source.find("content");
  if (content.is_string()) turns_.text(content);
  content.each_element([&](View part) { add(kind_of(part), part); });
}

}  // namespace corral::dialects::anthropic
