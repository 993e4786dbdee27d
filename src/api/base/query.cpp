#include "api/base/query.h"

#include <charconv>

#include <fmt/format.h>

#include "http/message.h"
#include "protocol/errors.h"

namespace corral::api {

std::unexpected<Error> wrong_query(std::string_view name, std::string_view what, std::string_view value) {
  return fail(protocol::errc::bad_value, fmt::format("'{}' must be {}, not '{}'", name, what, value.substr(0, 60)),
              std::string(name));
}

Result<std::optional<std::int64_t>> query_number(std::string_view query, std::string_view name, std::int64_t min,
                                                 std::int64_t max) {
  const auto text = http::query_value(query, name);
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), value);
  if (read.ec != std::errc() || read.ptr != text->data() + text->size() || value < min || value > max)
    return wrong_query(name, fmt::format("a whole number from {} to {}", min, max), *text);
  return value;
}

Result<bool> query_flag(std::string_view query, std::string_view name) {
  const auto text = http::query_value(query, name);
  if (!text || *text == "false") return false;
  if (*text == "true") return true;
  return wrong_query(name, "true or false", *text);
}

}  // namespace corral::api
