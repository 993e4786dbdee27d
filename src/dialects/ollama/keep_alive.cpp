#include "dialects/ollama/keep_alive.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "protocol/errors.h"

namespace corral::dialects::ollama {
namespace {

constexpr Millis kForEver{-1};
constexpr double kMax = 10.0 * 365 * 24 * 3600;  // seconds

struct Unit {
  std::string_view name;
  double seconds;
};
// Longer units come before their prefixes.
constexpr auto kUnits =
    std::to_array<Unit>({{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}});

Millis from_seconds(double seconds) {
  if (seconds < 0) return kForEver;
  // Rounds up, so that less than a millisecond doesn't become 0.
  return Millis(static_cast<std::int64_t>(std::ceil(std::min(seconds, kMax) * 1000)));
}

std::optional<double> number_at(std::string_view& text) {
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (read.ec != std::errc() || !std::isfinite(number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return number;
}

std::optional<double> seconds_of(std::string_view text) {
  double sign = 1;
  if (text.starts_with('-') || text.starts_with('+')) {
    sign = text.front() == '-' ? -1 : 1;
    text.remove_prefix(1);
  }
  double seconds = 0;
  bool first = true;
  do {
    if (text.empty() || text.front() == '-') return std::nullopt;
    const auto number = number_at(text);
    if (!number) return std::nullopt;
    if (text.empty() && first) return sign * *number;
    const auto unit = std::ranges::find_if(kUnits, [&](const Unit& row) { return text.starts_with(row.name); });
    if (unit == kUnits.end()) return std::nullopt;
    text.remove_prefix(unit->name.size());
    seconds += *number * unit->seconds;
    first = false;
  } while (!text.empty());
  return sign * seconds;
}

}  // namespace

Result<Millis> parse_keep_alive(json::View value) {
  if (!value.is_string()) return from_seconds(value.as_number());
  if (const auto seconds = seconds_of(value.as_string())) return from_seconds(*seconds);
  return fail(protocol::errc::bad_value,
              fmt::format("'keep_alive' must be seconds, or a time like \"5m\" or \"1h30m\", not {}", value.excerpt()),
              "keep_alive");
}

}  // namespace corral::dialects::ollama
