#include "fleet/requests/conversation.h"

#include <functional>

namespace corral::fleet {
namespace {

constexpr std::size_t kMax = 16 * 1024;
// Only this part of the body is searched: bodies may be large, and the loop serves other requests, too.
constexpr std::size_t kSearched = 64 * 1024;

// The position after the value that begins at `from`: a string, an object, an array. The body was checked before.
std::size_t end_of_value(std::string_view text, std::size_t from) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = from; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth > 0) --depth;
    }
    if (!in_string && depth == 0) return at + 1;
  }
  return text.size();
}

// The value of a field, from its first character on; empty: the field is missing.
std::string_view value_of(std::string_view body, std::string_view name) {
  const auto found = body.find(name);
  if (found == std::string_view::npos) return {};
  const auto begin = body.find_first_not_of(" \t\r\n:", found + name.size());
  return begin == std::string_view::npos ? std::string_view() : body.substr(begin, kMax);
}

// The messages up to the first user message.
std::string_view opening_of(std::string_view messages) {
  std::size_t at = 1;  // after the bracket
  while (at < messages.size() && messages[at] != ']') {
    const auto begin = messages.find_first_of("{]", at);
    if (begin == std::string_view::npos || messages[begin] == ']') break;
    at = end_of_value(messages, begin);
    if (messages.substr(begin, at - begin).find(R"("user")") != std::string_view::npos) break;
  }
  return messages.substr(0, at);
}

}  // namespace

std::uint64_t conversation_of(std::string_view body, std::string_view client) {
  body = body.substr(0, kSearched);
  std::string_view opening;
  if (const auto messages = value_of(body, R"("messages")"); messages.starts_with('[')) {
    opening = opening_of(messages);
  } else if (const auto prompt = value_of(body, R"("prompt")"); prompt.starts_with('"')) {
    constexpr std::size_t kBeginning = 256;  // later turns only append to this part
    opening = prompt.substr(0, kBeginning);
    if (opening.size() < kBeginning) opening = prompt.substr(0, end_of_value(prompt, 0) - 1);
  }
  return opening.size() < 2 ? 0 : session_number(opening, client);
}

std::uint64_t session_number(std::string_view session, std::string_view client) {
  const std::hash<std::string_view> hash;
  const auto number = hash(session) ^ (hash(client) * 0x9e3779b97f4a7c15ULL);
  return number == 0 ? 1 : number;
}

}  // namespace corral::fleet
