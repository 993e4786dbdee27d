// Texts as characters. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace corral::json_schema {

// From valid UTF-8.
std::u32string characters_of(std::string_view utf8);

}  // namespace corral::json_schema
