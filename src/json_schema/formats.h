// The enforced values of `format`.
#pragma once

#include <optional>
#include <string_view>

namespace corral::json_schema {

// A pattern for strings of this format, in the syntax of pattern.h; nothing: the format isn't enforced. "" matches any
// string. `uri` and `hostname` are narrower than their standards.
std::optional<std::string_view> format_pattern(std::string_view format);
// A pattern that every string of this format has, also one that format_pattern() leaves out; nothing: that leaves out
// none.
std::optional<std::string_view> wide_format_pattern(std::string_view format);

}  // namespace corral::json_schema
