// Reads query strings. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace corral::api {

// "'name' must be WHAT, not 'value'"
std::unexpected<Error> wrong_query(std::string_view name, std::string_view what, std::string_view value);

// A whole number from `min` to `max`; nothing: absent. Errors: protocol::errc::bad_value.
Result<std::optional<std::int64_t>> query_number(std::string_view query, std::string_view name, std::int64_t min,
                                                 std::int64_t max);
// true or false (default). Errors: the same.
Result<bool> query_flag(std::string_view query, std::string_view name);

}  // namespace corral::api
