// docs/cli.md, generated from the commands and the table of exit codes.
#pragma once

#include <string>

namespace corral::cli {

std::string cli_page();

}  // namespace corral::cli
