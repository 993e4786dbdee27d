// Numbers of JSON as counts (bytes, tokens, seconds). Others write them: a double that no integer holds must not be
// converted.
#pragma once

#include <cstdint>
#include <optional>

namespace corral::json {

// Above it a double skips integers.
inline constexpr double kLargestCount = 9007199254740992.0;

// Cut to a whole number. Nothing: it is negative, no number, or too large.
constexpr std::optional<std::uint64_t> to_count(double number) {
  const bool sane = number >= 0 && number <= kLargestCount;
  return sane ? std::optional(static_cast<std::uint64_t>(number)) : std::nullopt;
}

}  // namespace corral::json
