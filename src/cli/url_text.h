// Texts as they may stand in an address. Pure.
#pragma once

#include <string>
#include <string_view>

namespace corral::cli {

// "a b/c" -> "a%20b%2Fc"; letters, digits, "-._~" and what `plain` has stay.
std::string escaped(std::string_view text, std::string_view plain = {});

}  // namespace corral::cli
