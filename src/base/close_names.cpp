#include "base/close_names.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace corral {
namespace {

constexpr std::size_t kMaxLength = 256;
constexpr std::size_t kMinContained = 3;

std::string fold(std::string_view text) { return to_lower(text.substr(0, kMaxLength)); }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: two back for swaps, one back, and the one being filled.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::vector<std::string> close_names(std::string_view name, std::span<const std::string> candidates,
                                     std::size_t limit) {
  const std::string wanted = fold(name);
  const std::size_t threshold = std::max<std::size_t>(2, wanted.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> close;
  for (const std::string& candidate : candidates) {
    const std::string other = fold(candidate);
    const auto [shorter, longer] =
        std::minmax(wanted, other, [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const bool contained = shorter.size() >= kMinContained && longer.contains(shorter);
    if (!contained && longer.size() - shorter.size() > threshold) continue;
    const std::size_t distance =
        contained ? std::min<std::size_t>(2, longer.size() - shorter.size()) : edit_distance(wanted, other);
    if (distance <= threshold) close.emplace_back(distance, candidate);
  }
  std::ranges::sort(close);
  if (close.size() > limit) close.resize(limit);
  std::vector<std::string> names;
  names.reserve(close.size());
  for (auto& [distance, candidate] : close) names.push_back(std::move(candidate));
  return names;
}

}  // namespace corral
