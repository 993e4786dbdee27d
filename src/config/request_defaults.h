// What requests mean where they say nothing, and the names of one model: texts of settings. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::config {

// A JSON object whose members are fields of requests, each with a right value; or an empty text. Errors: invalid_value.
Result<> check_request_defaults(const std::string& text);

// "a, b" as its names; empty ones are none.
std::vector<std::string> names_in(std::string_view text);

}  // namespace corral::config
