// The command line, with all I/O as arguments: main_entry() passes the process's own, tests pass fakes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/server/address.h"
#include "cli/server/server_api.h"
#include "cli/terminal/line_input.h"
#include "cli/terminal/terminal.h"
#include "config/load.h"

namespace corral::cli {

struct ProgramIo {
  config::Environment environment;
  Terminal terminal;
  LineInput& input;
  const Clock& clock;
  std::function<std::unique_ptr<ServerApi>(const Address&)> connect;
};

// `arguments` without the program's name. Returns the exit code.
int run_program(const std::vector<std::string>& arguments, const Hooks& hooks, ProgramIo& surroundings);

// The help of the program ("") or of one command ("list", "mesh token list").
std::string help_text(const std::string& command);
// Names of all commands, in the order of the help, each followed by its sub-commands.
std::vector<std::string> command_names();

}  // namespace corral::cli
