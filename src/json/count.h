// JSON numbers as counts (bytes, tokens, seconds). The numbers are untrusted: a double beyond every integer must not be
// converted.
#pragma once

#include <cstdint>
#include <optional>

namespace corral::json {

// Above it a double skips integers.
inline constexpr double kLargestCount = 9007199254740992.0;

// Truncated to a whole number. Nothing: negative, no number, or too large.
constexpr std::optional<std::uint64_t> to_count(double number) {
  const bool sane = number >= 0 && number <= kLargestCount;
  return sane ? std::optional(static_cast<std::uint64_t>(number)) : std::nullopt;
}

}  // namespace corral::json
