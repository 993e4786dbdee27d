// Settings with default values of request fields, and with the names of one model. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::config {

// Checks that the text is empty, or a JSON object whose members are request fields with valid values, or "system": the
// system message of chats without one. Errors: invalid_value of `param`.
Result<> check_request_defaults(std::string_view text, std::string_view param);
// Of the setting of that name.
Result<> check_request_defaults(const std::string& text);

// The names in "a, b", without empty ones.
std::vector<std::string> names_in(std::string_view text);

}  // namespace corral::config
