#include "config/options/option.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "config/options/close_keys.h"
#include "config/options/value.h"

namespace corral::config {
namespace {

std::string range_text(const Range& range, const auto& render) {
  if (range.above) return fmt::format("above {}", render(range.min));
  if (range.max >= Range{}.max) return fmt::format("of at least {}", render(range.min));
  return fmt::format("from {} to {}", render(range.min), render(range.max));
}

}  // namespace

const Option* find_option(std::string_view key) {
  const auto found = std::ranges::find(options(), key, &Option::key);
  return found == options().end() ? nullptr : &*found;
}

std::string closest_key(std::string_view key) { return closest_row(key, options()); }

std::string flag_of(const Option& option) {
  std::string flag = fmt::format("--{}", option.key);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::string variable_of(const Option& option) { return "CORRAL_" + to_upper(option.key); }

std::string_view name_of(Applies applies) {
  switch (applies) {
    case Applies::at_restart:
      return "restart";
    case Applies::now:
      return "now";
    case Applies::next_load:
      return "next_load";
  }
  return "";
}

bool is_switch(const Option& option) { return std::holds_alternative<bool ServeSettings::*>(option.field); }

bool is_list(const Option& option) {
  return std::holds_alternative<std::vector<std::filesystem::path> ServeSettings::*>(option.field);
}

bool takes_array(const Option& option) {
  return is_list(option) || option.several_words || !option.array_between.empty();
}

bool are_items(const Option& option, const std::vector<std::string>& items) {
  return option.array_between.empty() ||
         std::ranges::none_of(items, [&](std::string_view item) { return item.contains(option.array_between); });
}

std::string joined(const Option& option, const std::vector<std::string>& items) {
  return fmt::format("{}", fmt::join(items, option.several_words ? " " : option.array_between));
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
    case Group::mesh:
      return "The mesh";
    case Group::store:
      return "Storage";
    case Group::process:
      return "The process";
  }
  return "";
}

std::string expectation(const Option& option) {
  struct Words {
    const Option& option;
    std::string operator()(std::string ServeSettings::*) const {
      return option.choices.empty() ? "a text" : fmt::format("one of {}", fmt::join(option.choices, ", "));
    }
    std::string operator()(int ServeSettings::*) const {
      const auto plain = [](std::int64_t value) { return std::to_string(value); };
      return fmt::format("a whole number {}", range_text(option.range, plain));
    }
    std::string operator()(double ServeSettings::*) const {
      const auto plain = [](std::int64_t value) { return fmt::format("{}", static_cast<double>(value) / 1000); };
      return fmt::format("a number {}", range_text(option.range, plain));
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
  for (const auto word : {option.zero_name, option.never_name}) {
    if (!word.empty()) text += fmt::format(", or {}", word);
  }
  return text;
}

std::vector<std::string> value_texts(const Option& option, const ServeSettings& settings) {
  struct Texts {
    using Many = std::vector<std::string>;
    const Option& option;
    const ServeSettings& settings;

    Many unless_zero(bool zero, std::string text) const {
      return {zero && !option.zero_name.empty() ? std::string(option.zero_name) : std::move(text)};
    }

    Many operator()(std::string ServeSettings::* member) const {
      const std::string& text = settings.*member;
      return {option.secret && !text.empty() ? "***" : text};
    }
    Many operator()(int ServeSettings::* member) const {
      return unless_zero(settings.*member == 0, std::to_string(settings.*member));
    }
    Many operator()(double ServeSettings::* member) const { return {fmt::format("{}", settings.*member)}; }
    Many operator()(bool ServeSettings::* member) const { return {settings.*member ? "true" : "false"}; }
    Many operator()(Millis ServeSettings::* member) const {
      if (settings.*member == kNever) return {std::string(option.never_name)};
      return unless_zero(settings.*member == Millis(0), to_text(settings.*member));
    }
    Many operator()(Bytes ServeSettings::* member) const { return {to_text(settings.*member)}; }
    Many operator()(log::Level ServeSettings::* member) const { return {std::string(log::name_of(settings.*member))}; }
    Many operator()(std::filesystem::path ServeSettings::* member) const { return {(settings.*member).native()}; }
    Many operator()(std::vector<std::filesystem::path> ServeSettings::* member) const {
      Many texts;
      for (const auto& path : settings.*member) texts.push_back(path.native());
      return texts;
    }
  };
  return std::visit(Texts{option, settings}, option.field);
}

bool same_value(const Option& option, const ServeSettings& a, const ServeSettings& b) {
  return std::visit([&](auto member) { return a.*member == b.*member; }, option.field);
}

void copy_value(const Option& option, const ServeSettings& from, ServeSettings& to) {
  std::visit([&](auto member) { to.*member = from.*member; }, option.field);
  const auto origin = from.origins.find(option.key);
  if (origin != from.origins.end()) to.origins[origin->first] = origin->second;
}

}  // namespace corral::config
