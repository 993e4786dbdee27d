#include "dialects/anthropic/billing_line.h"

#include <algorithm>

#include "base/text.h"

namespace corral::dialects::anthropic {
namespace {

constexpr std::string_view kName = "x-anthropic-billing-header:";

// The part before the separator; removes both from `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const auto end = std::min(rest.find(separator), rest.size());
  const auto part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

// Clients write values without blanks, separated by semicolons. Anything else is a sentence about the line.
bool is_billing_line(std::string_view line) {
  if (!line.starts_with(kName)) return false;
  auto rest = line.substr(kName.size());
  while (!rest.empty()) {
    if (trimmed(take(rest, ';'), kBlanksOfLine).find_first_of(" \t") != std::string_view::npos) return false;
  }
  return true;
}

}  // namespace

bool has_billing_line(std::string_view text) {
  for (auto at = text.find(kName); at != std::string_view::npos; at = text.find(kName, at + 1)) {
    if (at > 0 && text[at - 1] != '\n') continue;
    auto rest = text.substr(at);
    if (is_billing_line(take(rest, '\n'))) return true;
  }
  return false;
}

std::string without_billing_lines(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  while (!text.empty()) {
    const bool last = text.find('\n') == std::string_view::npos;
    const auto line = take(text, '\n');
    if (is_billing_line(line)) continue;
    kept.append(line);
    if (!last) kept.push_back('\n');
  }
  return kept;
}

}  // namespace corral::dialects::anthropic
