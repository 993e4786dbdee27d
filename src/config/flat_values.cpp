#include "config/flat_values.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/errors.h"
#include "config/options/option.h"

namespace corral::config {
namespace {

std::string key_of(const std::string& written) {
  std::string flat = written;
  std::ranges::replace(flat, '.', '_');
  return find_option(flat) ? flat : written;
}

// The parser limits the depth of JSON.
Result<> add(const std::string& place, const json::Object& object, SetValues& values) {
  for (const auto& [name, value] : object) {
    const std::string written = place + std::string(name);
    const std::string key = key_of(written);
    const auto* inside = value.if_object();
    if (inside && !inside->empty() && !find_option(key)) {
      if (auto added = add(written + ".", *inside, values); !added) return added;
    } else if (!values.emplace(key, value).second) {
      return fail(errc::invalid_value, fmt::format("'{}' is given twice", key), key);
    }
  }
  return {};
}

}  // namespace

Result<SetValues> flat_values(const json::Object& object) {
  SetValues values;
  const auto added = add("", object, values);
  return added ? Result<SetValues>(std::move(values)) : std::unexpected(added.error());
}

}  // namespace corral::config
