// The command line, with all I/O as arguments: main_entry() passes the process's own, tests pass fakes.
#pragma once

#include <filesystem>
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

namespace CLI {
class App;
}

namespace corral::cli {

struct ProgramIo {
  // Starts a server of this program for the time of one command; the handle's end stops it. Empty: impossible.
  using StartServer = std::function<Result<std::shared_ptr<void>>(const Address&, const config::Inputs&)>;

  config::Environment environment;
  Terminal terminal;
  LineInput& input;
  const Clock& clock;
  std::function<std::unique_ptr<ServerApi>(const Address&)> connect;
  StartServer start_server = {};
  std::filesystem::path service_file = {};  // see config::Inputs
};

// `arguments` without the program's name. Returns the exit code.
int run_program(const std::vector<std::string>& arguments, const Hooks& hooks, ProgramIo& surroundings);

// The help of the program ("") or of one command ("list", "mesh token list").
std::string help_text(const std::string& command);
// Calls `use` with the tables of the command line, which live no longer than the call.
void with_command_line(const std::function<void(const CLI::App&)>& use);
// Names of all commands, in the order of the help, each followed by its sub-commands.
std::vector<std::string> command_names();

}  // namespace corral::cli
