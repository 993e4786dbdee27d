// The values of `format` that are enforced.
#pragma once

#include <optional>
#include <string_view>

namespace corral::json_schema {

// A pattern for strings of this format, in the words of pattern.h; none: the format isn't enforced. "" stands for any
// string. `uri` and `hostname` are narrower than their standards.
std::optional<std::string_view> format_pattern(std::string_view format);

}  // namespace corral::json_schema
