#include "config/options/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"

namespace corral::config {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
// The first row without a name is the unit of a bare number; the named ones are sorted from large to small.
constexpr std::array kDurations = {Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000}, Unit{"ms", 1},
                                   Unit{"", 1'000}};
constexpr double kKi = 1024;
constexpr std::array kSizes = {
    Unit{"tib", kKi* kKi* kKi* kKi},
    Unit{"gib", kKi* kKi* kKi},
    Unit{"mib", kKi* kKi},
    Unit{"kib", kKi},
    Unit{"t", kKi* kKi* kKi* kKi},
    Unit{"g", kKi* kKi* kKi},
    Unit{"m", kKi* kKi},
    Unit{"k", kKi},
    Unit{"tb", 1e12},
    Unit{"gb", 1e9},
    Unit{"mb", 1e6},
    Unit{"kb", 1e3},
    Unit{"b", 1},
    Unit{"", 1},
};
constexpr double kLargest = 9e15;  // doubles are exact up to here

std::optional<std::int64_t> parse_with_unit(std::string_view text, const auto& units) {
  text = trimmed(text, " ");
  double number = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number, std::chars_format::fixed);
  if (error != std::errc{} || number < 0) return std::nullopt;
  const std::string unit = to_lower(trimmed({end, text.end()}, " "));
  const auto row = std::ranges::find(units, std::string_view(unit), &Unit::name);
  if (row == units.end()) return std::nullopt;
  const double value = number * row->factor;
  if (!(value <= kLargest)) return std::nullopt;
  return std::llround(value);
}

}  // namespace

std::optional<bool> parse_bool(std::string_view text) {
  const std::string word = to_lower(trimmed(text, " "));
  if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
  if (word == "false" || word == "no" || word == "off" || word == "0") return false;
  return std::nullopt;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  text = trimmed(text, " ");
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc{} || end != text.end()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  text = trimmed(text, " ");
  double value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != text.end() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<Millis> parse_duration(std::string_view text) {
  return parse_with_unit(text, kDurations).transform([](std::int64_t value) { return Millis(value); });
}

std::optional<Bytes> parse_size(std::string_view text) {
  const auto to_bytes = [](std::int64_t value) { return Bytes(static_cast<std::uint64_t>(value)); };
  return parse_with_unit(text, kSizes).transform(to_bytes);
}

std::string to_text(Millis duration) {
  const auto count = duration.count();
  if (count == 0) return "0s";
  for (const Unit& unit : kDurations) {
    const auto factor = static_cast<std::int64_t>(unit.factor);
    if (count % factor == 0) return fmt::format("{}{}", count / factor, unit.name);
  }
  return fmt::format("{}ms", count);
}

std::string to_text(Bytes size) {
  constexpr std::array<std::string_view, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::uint64_t count = size.value();
  std::size_t unit = 0;
  while (count != 0 && count % 1024 == 0 && unit + 1 < kNames.size()) {
    count /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", count, kNames[unit]);
}

}  // namespace corral::config
