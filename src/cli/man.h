// corral(1), the manual page, generated from the commands and the table of exit codes.
#pragma once

#include <string>
#include <string_view>

namespace corral::cli {

// In mdoc. `date`: "November 28, 2026".
std::string man_page(std::string_view date);

}  // namespace corral::cli
