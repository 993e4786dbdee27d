#include "downloads/transfer/ranges.h"

#include <algorithm>

namespace corral::downloads {

void RangeSet::add(Range range) {
  if (range.empty()) return;
  const auto first = std::ranges::lower_bound(ranges_, range.begin, {}, &Range::end);
  auto last = first;
  for (; last != ranges_.end() && last->begin <= range.end; ++last) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
  }
  ranges_.insert(ranges_.erase(first, last), range);
}

void RangeSet::remove(Range range) {
  if (range.empty()) return;
  std::vector<Range> left;
  for (const Range& old : ranges_) {
    const Range before{old.begin, std::min(old.end, range.begin)};
    const Range behind{std::max(old.begin, range.end), old.end};
    if (!before.empty()) left.push_back(before);
    if (!behind.empty()) left.push_back(behind);
  }
  ranges_ = std::move(left);
}

std::uint64_t RangeSet::bytes() const {
  std::uint64_t sum = 0;
  for (const Range& range : ranges_) sum += range.size();
  return sum;
}

bool RangeSet::covers(Range range) const {
  return range.empty() || std::ranges::any_of(ranges_, [&](const Range& has) {
           return has.begin <= range.begin && range.end <= has.end;
         });
}

std::uint64_t RangeSet::front() const {
  return ranges_.empty() || ranges_.front().begin != 0 ? 0 : ranges_.front().end;
}

std::optional<Range> RangeSet::gap(std::uint64_t size, std::uint64_t limit) const {
  std::uint64_t at = 0;
  for (const Range& range : ranges_) {
    if (range.begin > at) return Range{at, std::min({range.begin, size, at + limit})};
    at = range.end;
  }
  if (at >= size) return std::nullopt;
  return Range{at, std::min(size, at + limit)};
}

}  // namespace corral::downloads
