#include "config/options/assign.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/errors.h"
#include "config/options/value.h"

namespace corral::config {
namespace {

namespace fs = std::filesystem;

struct Assigner {
  using S = ServeSettings;

  const Option& option;
  const Given& given;
  const Paths& paths;
  ServeSettings& settings;

  // Names the origin, and the option too if the origin is a file. For a value that was just set, the origin is obvious.
  std::string where() const {
    const Origin& origin = given.origin;
    if (origin.where.empty()) return std::string(option.key);
    const bool names_the_place_only = origin.source == Source::file || origin.source == Source::set;
    return names_the_place_only ? fmt::format("{}: {}", origin.where, option.key) : origin.where;
  }
  std::unexpected<Error> wrong(std::string_view reason = {}) const {
    const std::string value = option.secret ? "(hidden)" : fmt::format("'{}'", text());
    const std::string right = reason.empty() ? fmt::format("not {}", expectation(option)) : std::string(reason);
    return fail(errc::invalid_value, fmt::format("{}: {} is {}", where(), value, right), std::string(option.key));
  }
  std::unexpected<Error> refused(const Error& cause) const {
    return fail(errc::invalid_value, fmt::format("{}: {}", where(), cause.message), std::string(option.key));
  }

  const std::string& text() const {
    static const std::string kEmpty;
    return given.texts.empty() ? kEmpty : given.texts.back();
  }
  bool in_range(std::int64_t value) const { return value >= option.range.min && value <= option.range.max; }
  bool in_range(double value) const {
    const auto& [min, max, above] = option.range;
    const double least = static_cast<double>(min) / 1000;
    return (above ? value > least : value >= least) && (max >= Range{}.max || value <= static_cast<double>(max) / 1000);
  }
  bool means_zero() const { return !option.zero_name.empty() && text() == option.zero_name; }

  Result<> operator()(std::string S::* member) const {
    if (!option.several_lines && text().find_first_of("\r\n") != std::string::npos) return wrong("more than one line");
    if (text().empty() && !option.fallback.empty()) return wrong("empty");
    if (!option.choices.empty() && std::ranges::find(option.choices, text()) == option.choices.end()) return wrong();
    if (option.check) {
      if (const auto checked = option.check(text()); !checked) return refused(checked.error());
    }
    settings.*member = text();
    return {};
  }
  Result<> operator()(int S::* member) const {
    const auto value = means_zero() ? 0 : parse_int(text());
    if (!value || !in_range(*value)) return wrong();
    settings.*member = static_cast<int>(*value);
    return {};
  }
  Result<> operator()(double S::* member) const {
    const auto value = parse_number(text());
    if (!value || !in_range(*value)) return wrong();
    settings.*member = *value;
    return {};
  }
  Result<> operator()(bool S::* member) const {
    const auto value = parse_bool(text());
    if (!value) return wrong();
    settings.*member = *value;
    return {};
  }
  Result<> operator()(Millis S::* member) const {
    if (!option.never_name.empty() && (text() == option.never_name || text() == "-1")) {
      settings.*member = kNever;
      return {};
    }
    const auto value = means_zero() ? Millis(0) : parse_duration(text());
    if (!value || !in_range(value->count())) return wrong();
    settings.*member = *value;
    return {};
  }
  Result<> operator()(Bytes S::* member) const {
    const auto value = parse_size(text());
    if (!value || !in_range(static_cast<std::int64_t>(value->value()))) return wrong();
    settings.*member = *value;
    return {};
  }
  Result<> operator()(log::Level S::* member) const {
    const auto value = log::parse_level(text());
    if (!value) return wrong();
    settings.*member = *value;
    return {};
  }
  Result<> operator()(fs::path S::* member) const {
    if (text().empty() && !option.fallback.empty()) return wrong("empty");
    settings.*member = text().empty() ? fs::path() : paths.expand(text(), given.base);
    return {};
  }
  Result<> operator()(std::vector<fs::path> S::* member) const {
    std::vector<fs::path> folders;
    for (const std::string& folder : given.texts) {
      if (!folder.empty()) folders.push_back(paths.expand(folder, given.base));
    }
    settings.*member = std::move(folders);
    return {};
  }
};

}  // namespace

Result<> assign(const Option& option, const Given& given, const Paths& paths, ServeSettings& settings) {
  const Result<> done = std::visit(Assigner{option, given, paths, settings}, option.field);
  if (done) settings.origins[std::string(option.key)] = given.origin;
  return done;
}

}  // namespace corral::config
