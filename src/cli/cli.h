// The program's user interface: sub-commands, flags, help, exit codes. main() is one call of main_entry().
//
// Commands other than serve use HTTP to a running server and link none of its code.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/doctor/machine_facts.h"
#include "config/live_settings.h"
#include "config/load.h"

namespace corral::cli {

// Runs the server to its end; returns the exit code of the process.
using ServeFunction = std::function<int(config::LiveSettings&)>;

// A mode for the program's own child processes (e.g. "engine"); not in the help. Gets all arguments, argv[1] is its
// name.
struct HiddenCommand {
  std::string name;
  std::function<int(int argc, char** argv)> run;
};

// Provided by the composition root.
struct Hooks {
  std::string version;                                          // "0.1.0"
  std::vector<std::pair<std::string, std::string>> components;  // {"llama.cpp", "0.5.0"}: printed by `version`
  ServeFunction serve;
  // Facts about this machine for `doctor`, with the settings (null: they are invalid) and the environment of the
  // server. Empty: none are known.
  std::function<MachineFacts(const config::ServeSettings*, const config::Environment&)> examine = {};
  std::vector<HiddenCommand> hidden;
};

// Parses and executes the command line. Returns the exit code (errors.h).
int main_entry(int argc, char** argv, const Hooks& hooks);

}  // namespace corral::cli
