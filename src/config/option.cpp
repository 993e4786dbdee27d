#include "config/option.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "config/value.h"

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

std::string range_text(const Range& range, const auto& render) {
  if (range.max >= Range{}.max) return fmt::format("of at least {}", render(range.min));
  return fmt::format("from {} to {}", render(range.min), render(range.max));
}

}  // namespace

const Option* find_option(std::string_view key) {
  const auto found = std::ranges::find(options(), key, &Option::key);
  return found == options().end() ? nullptr : &*found;
}

std::string_view closest_key(std::string_view key) {
  std::string plain(key);
  std::ranges::replace(plain, '-', '_');
  std::ranges::transform(plain, plain.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, plain.size() / 3) + 1;
  for (const Option& option : options()) {
    const std::size_t distance = edit_distance(plain, option.key);
    if (distance >= best_distance) continue;
    best = option.key;
    best_distance = distance;
  }
  return best;
}

std::string flag_of(const Option& option) {
  std::string flag = fmt::format("--{}", option.key);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::string variable_of(const Option& option) {
  std::string name = fmt::format("CORRAL_{}", option.key);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

bool is_switch(const Option& option) { return std::holds_alternative<bool ServeSettings::*>(option.field); }

bool is_list(const Option& option) {
  return std::holds_alternative<std::vector<std::filesystem::path> ServeSettings::*>(option.field);
}

std::string_view title(Group group) {
  switch (group) {
    case Group::access:
      return "Network and access";
    case Group::models:
      return "Finding models";
    case Group::memory:
      return "Models in memory";
    case Group::engine:
      return "Running a model";
    case Group::process:
      return "The process";
  }
  return "";
}

std::string expectation(const Option& option) {
  struct Words {
    const Option& option;
    std::string operator()(std::string ServeSettings::*) const { return "a text"; }
    std::string operator()(int ServeSettings::*) const {
      const auto plain = [](std::int64_t value) { return std::to_string(value); };
      return fmt::format("a whole number {}", range_text(option.range, plain));
    }
    std::string operator()(bool ServeSettings::*) const { return "true or false"; }
    std::string operator()(Millis ServeSettings::*) const {
      const auto render = [](std::int64_t value) { return to_text(Millis(value)); };
      return fmt::format("a duration {}, such as 500ms, 2s or 5m", range_text(option.range, render));
    }
    std::string operator()(Bytes ServeSettings::*) const {
      const auto render = [](std::int64_t value) { return to_text(Bytes(static_cast<std::uint64_t>(value))); };
      return fmt::format("a size {}, such as 65536, 512KiB or 64MiB", range_text(option.range, render));
    }
    std::string operator()(log::Level ServeSettings::*) const {
      return "one of trace, debug, info, warning, error, none";
    }
    std::string operator()(std::filesystem::path ServeSettings::*) const { return "a path"; }
    std::string operator()(std::vector<std::filesystem::path> ServeSettings::*) const { return "one or more paths"; }
  };
  std::string text = option.right.empty() ? std::visit(Words{option}, option.field) : std::string(option.right);
  if (!option.zero_name.empty()) text += fmt::format(", or {}", option.zero_name);
  return text;
}

}  // namespace corral::config
