// Flags of the commands that print tables.
#pragma once

#include "cli/terminal/terminal.h"

namespace CLI {
class App;
}

namespace corral::cli {

// For a command; its sub-commands accept them, too.
void add_table_flags(CLI::App& app);

// Of the command that was parsed.
TableView table_view(const CLI::App& program);

}  // namespace corral::cli
