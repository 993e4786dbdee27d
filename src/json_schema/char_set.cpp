#include "json_schema/char_set.h"

#include <algorithm>

namespace corral::json_schema {

CharSet::CharSet(std::vector<Range> ranges) {
  std::ranges::sort(ranges);
  for (const auto& [low, high] : ranges) {
    if (!ranges_.empty() && low <= ranges_.back().second + 1) {
      ranges_.back().second = std::max(ranges_.back().second, high);
    } else {
      ranges_.emplace_back(low, high);
    }
  }
}

CharSet CharSet::of(std::string_view characters) {
  std::vector<Range> ranges;
  for (const char c : characters) ranges.emplace_back(c, c);
  return CharSet(std::move(ranges));
}

bool CharSet::contains(char32_t c) const {
  const auto above = std::ranges::upper_bound(ranges_, c, {}, &Range::first);
  return above != ranges_.begin() && std::prev(above)->second >= c;
}

CharSet CharSet::operator|(const CharSet& other) const {
  auto ranges = ranges_;
  ranges.insert(ranges.end(), other.ranges_.begin(), other.ranges_.end());
  return CharSet(std::move(ranges));
}

CharSet CharSet::operator&(const CharSet& other) const { return ~(~*this | ~other); }

CharSet CharSet::operator~() const {
  std::vector<Range> ranges;
  char32_t next = 0;
  for (const auto& [low, high] : ranges_) {
    if (low > next) ranges.emplace_back(next, low - 1);
    next = high + 1;
  }
  if (next <= kLastCharacter) ranges.emplace_back(next, kLastCharacter);
  return CharSet(std::move(ranges));
}

}  // namespace corral::json_schema
