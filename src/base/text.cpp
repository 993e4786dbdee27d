#include "base/text.h"

#include <algorithm>

namespace corral {

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = to_lower(c);
  return lower;
}

std::string to_upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = to_upper(c);
  return upper;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return to_lower(x) == to_lower(y); });
}

std::string_view trimmed_front(std::string_view text, std::string_view blanks) {
  return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

std::string_view trimmed_back(std::string_view text, std::string_view blanks) {
  return text.substr(0, text.find_last_not_of(blanks) + 1);  // npos + 1 is 0
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  return trimmed_front(trimmed_back(text, blanks), blanks);
}

}  // namespace corral
