// The key that a misspelt key probably means.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace corral::config {

// "": none is close. Dashes and dots count as underscores.
std::string closest_of(std::string_view key, const std::vector<std::string_view>& keys);

// The same for the rows of a table.
template <typename Row>
std::string closest_row(std::string_view key, std::span<const Row> rows) {
  std::vector<std::string_view> keys;
  for (const Row& row : rows) keys.push_back(row.key);
  return closest_of(key, keys);
}

// "; did you mean 'x'?" for the end of a message, if a key is close.
std::string did_you_mean(const std::string& close);

}  // namespace corral::config
