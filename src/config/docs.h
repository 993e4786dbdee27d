// docs/configuration.md and a manual page, generated from the table.
#pragma once

#include <string>
#include <string_view>

namespace corral::config {

std::string configuration_page();
// The same table as a manual page, corral-config(5). `date`: "November 28, 2026".
std::string configuration_man_page(std::string_view date);
// `text` as a line of mdoc, which begins with no macro.
std::string mdoc_text(std::string_view text);
// `text` as one argument of a macro.
std::string mdoc_argument(std::string_view text);

}  // namespace corral::config
