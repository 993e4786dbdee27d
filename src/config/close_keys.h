// Which of some keys a misspelt one was probably meant to be.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace corral::config {

// The one that differs by its dashes, capitals or a single letter only; "" when none does. For where unknown keys are
// allowed.
std::string_view misspelt(std::string_view key, const std::vector<std::string_view>& keys);

// "" when none is close.
std::string_view closest_of(std::string_view key, const std::vector<std::string_view>& keys);

// The same for the rows of a table.
template <typename Row>
std::string_view closest_row(std::string_view key, std::span<const Row> rows) {
  std::vector<std::string_view> keys;
  for (const Row& row : rows) keys.push_back(row.key);
  return closest_of(key, keys);
}

}  // namespace corral::config
