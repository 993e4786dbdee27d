#include "engine_server/templates/forced_calls.h"

#include <string_view>
#include <utility>
#include <vector>

namespace corral::engine_server {
namespace {

// The elements of a rule's body: names and literals with their repetition, brackets, bars.
std::vector<std::string_view> words_of(std::string_view body) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  char closes = 0;  // of the literal or character class that is open
  for (std::size_t i = 0; i <= body.size(); ++i) {
    const bool ends = i == body.size() || (closes == 0 && body[i] == ' ');
    if (ends) {
      if (i > begin) words.push_back(body.substr(begin, i - begin));
      begin = i + 1;
    } else if (closes != 0 && body[i] == '\\') {
      ++i;
    } else if (body[i] == closes) {
      closes = 0;
    } else if (closes == 0 && (body[i] == '"' || body[i] == '[')) {
      closes = body[i] == '"' ? '"' : ']';
    }
  }
  return words;
}

bool is_text(std::string_view word) { return word.starts_with("until-"); }
bool is_call(std::string_view word) {
  return !word.starts_with('"') && word.find("tool-call") != std::string_view::npos;
}
// Optional space between text and call.
bool is_gap(std::string_view word) { return word == "space" || (word.starts_with('"') && word.ends_with("\"?")); }

bool stands_before_call(const std::vector<std::string_view>& words, std::size_t at) {
  for (++at; at < words.size(); ++at) {
    if (!is_gap(words[at])) return is_call(words[at]);
  }
  return false;
}

}  // namespace

void forbid_text_before_calls(std::string& grammar) {
  constexpr std::string_view kRoot = "root ::= ";
  std::size_t at = grammar.starts_with(kRoot) ? 0 : grammar.find("\nroot ::= ");
  if (at == std::string::npos) return;
  at = grammar.find(kRoot, at) + kRoot.size();
  const auto length = grammar.find('\n', at) == std::string::npos ? grammar.size() - at : grammar.find('\n', at) - at;
  const auto words = words_of(std::string_view(grammar).substr(at, length));
  std::string body;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_text(words[i]) && stands_before_call(words, i)) continue;
    if (!body.empty()) body += ' ';
    body += words[i];
  }
  grammar.replace(at, length, body);
}

void allow_one_call(std::string& grammar) {
  constexpr std::string_view kMany = "\ntool-calls ::= (tool-call space)+\n";
  constexpr std::string_view kOne = "\ntool-calls ::= tool-call space\n";
  if (const auto at = grammar.find(kMany); at != std::string::npos) grammar.replace(at, kMany.size(), kOne);
}

}  // namespace corral::engine_server
