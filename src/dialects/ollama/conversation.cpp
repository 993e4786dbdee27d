#include "dialects/ollama/conversation.h"

#include <algorithm>
#include <cstdint>

#include "protocol/errors.h"

namespace corral::dialects::ollama {
namespace {

constexpr std::size_t kPacked = 3;  // bytes in a number

Error not_ours() {
  return {
      make_error_code(protocol::errc::bad_value),
      "'context' must be the 'context' of a response of this server: send it unchanged, or omit it and use /api/chat",
      "context"};
}

bool is_text_message(json::View message) {
  const auto role = message.find("role").as_string();
  return (role == "user" || role == "assistant") && message.find("content").is_string() && message.size() == 2;
}

}  // namespace

void write_context(json::Writer& out, std::string_view messages) {
  // JSON ignores blanks, so padding fills the last number.
  std::string text = "[";
  text.append(messages).push_back(']');
  text.append((kPacked - text.size() % kPacked) % kPacked, ' ');
  out.begin_array().value(kMark);
  for (std::size_t at = 0; at < text.size(); at += kPacked) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < kPacked; ++i) number = number << 8 | static_cast<unsigned char>(text[at + i]);
    out.value(number);
  }
  out.end_array();
}

Result<std::string> read_context(json::View context) {
  if (context.empty()) return std::string();
  std::string text;
  bool first = true, fine = true;
  context.each_element([&](json::View element) {
    const auto number = element.as_integer();
    if (first) {
      first = false;
      return fine = number == kMark;
    }
    fine = number >= 0 && number <= 0xFFFFFF;
    for (const int shift : {16, 8, 0}) text.push_back(static_cast<char>(number >> shift & 0xFF));
    return fine;
  });
  if (!fine) return std::unexpected(not_ours());
  const auto peek = json::Peek::open(text);
  if (!peek || !peek->root().is_array()) return std::unexpected(not_ours());
  peek->root().each_element([&](json::View message) { return fine = is_text_message(message); });
  if (!fine) return std::unexpected(not_ours());
  auto list = peek->root().text();
  return list.substr(1, list.size() - 2);
}

std::string message(std::string_view role, std::string_view content) {
  std::string text;
  json::Writer(text).begin_object().field("role", role).field("content", content).end_object();
  return text;
}

}  // namespace corral::dialects::ollama
