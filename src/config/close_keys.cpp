#include "config/close_keys.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace corral::config {
namespace {

// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

// How it sounds: "ctxSize", "ctx-size" and "ctx_size" are one.
std::string spoken(std::string_view key) {
  std::string letters;
  for (const unsigned char c : key) {
    if (c != '-' && c != '_') letters.push_back(static_cast<char>(std::tolower(c)));
  }
  return letters;
}

}  // namespace

std::string_view misspelt(std::string_view key, const std::vector<std::string_view>& keys) {
  const std::string said = spoken(key);
  const auto same = std::ranges::find_if(keys, [&](std::string_view candidate) {
    return edit_distance(said, spoken(candidate)) <= (said.size() > 4 ? 1 : 0);
  });
  return same == keys.end() ? std::string_view() : *same;
}

std::string_view closest_of(std::string_view key, const std::vector<std::string_view>& keys) {
  std::string plain(key);
  std::ranges::replace(plain, '-', '_');
  std::ranges::transform(plain, plain.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, plain.size() / 3) + 1;
  for (const std::string_view candidate : keys) {
    const std::size_t distance = edit_distance(plain, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

}  // namespace corral::config
