// Escapes texts for URLs. Pure.
#pragma once

#include <string>
#include <string_view>

namespace corral::cli {

// "a b/c" -> "a%20b%2Fc"; letters, digits, "-._~" and the characters in `plain` stay.
std::string escaped(std::string_view text, std::string_view plain = {});

}  // namespace corral::cli
