#include "config/options/close_keys.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/close_names.h"

namespace corral::config {

std::string closest_of(std::string_view key, const std::vector<std::string_view>& keys) {
  std::string plain(key);
  std::ranges::replace_if(plain, [](char c) { return c == '-' || c == '.'; }, '_');
  const std::vector<std::string> candidates(keys.begin(), keys.end());
  auto close = close_names(plain, candidates, 1);
  return close.empty() ? std::string() : std::move(close.front());
}

std::string did_you_mean(const std::string& close) {
  return close.empty() ? std::string() : fmt::format("; did you mean '{}'?", close);
}

}  // namespace corral::config
