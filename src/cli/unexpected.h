// Error messages for arguments that a command doesn't take or lacks. Pure.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace corral::cli {

// After a failed parse: lists the unexpected arguments in their order, and suggests the closest flag or command.
std::string explain_unexpected(const CLI::App& app);

// After a parse that ended with the help: a word stands where a command belongs, and is none.
bool names_no_command(const CLI::App& app);

// After a failed parse: the parser's message; if a positional argument is missing, with its description.
std::string explain_missing(const CLI::App& app, const std::string& message);

// "corral list --help": the help of the given command.
std::string help_command(const CLI::App& app);

}  // namespace corral::cli
