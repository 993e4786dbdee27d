// What to say of arguments that a command line has too many. Pure.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace corral::cli {

// Of a command line that was parsed in vain: which arguments nobody expects, in their order, and what may have been
// meant.
std::string explain_unexpected(const CLI::App& app);

// "corral list --help": the help of the command that was given.
std::string help_command(const CLI::App& app);

}  // namespace corral::cli
