// A sub-command: its name, flags and action.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/server/reply_parser.h"
#include "cli/server/server_api.h"
#include "cli/terminal/line_input.h"
#include "cli/terminal/terminal.h"
#include "config/load.h"

namespace CLI {
class App;
}

namespace corral::cli {

// Objects that a command uses.
struct CommandContext {
  ServerApi& api;
  const Terminal& terminal;
  LineInput& input;
  const Clock& clock;
  const Hooks& hooks;
  const config::Inputs& inputs;  // flags and environment, for commands that use files of this machine
  bool json = false;
  // Starts a server for the time of the command, at the address of `api`; the handle's end stops it. Empty: impossible.
  std::function<Result<std::shared_ptr<void>>()> start_server = {};
};

// Returns the exit code, or an error, which the program prints and converts to an exit code.
using Action = std::function<Result<int>(CommandContext&)>;

struct Command {
  std::string_view name;
  std::string_view summary;
  // Adds the command's own flags; the action reads them after parsing.
  Action (*declare)(CLI::App& app);
  // Uses the files of a server, running or not: takes --state-dir instead of an address.
  bool local = false;
  std::string_view alias{};  // name in other programs
};

// All commands that talk to a server, in the order of the help.
std::span<const Command> commands();

// Prints a JSON text of the server on its own line.
Result<int> print_json(const CommandContext& context, std::string_view text);

// Declares MODEL and the flags of load options; `options` must outlive the parsing.
void declare_load_options(CLI::App& app, LoadRequest& options);

Action declare_list(CLI::App& app);
Action declare_ps(CLI::App& app);
Action declare_top(CLI::App& app);
Action declare_events(CLI::App& app);
Action declare_stats(CLI::App& app);
Action declare_activity(CLI::App& app);
Action declare_logs(CLI::App& app);
Action declare_requests(CLI::App& app);
Action declare_cancel(CLI::App& app);
Action declare_status(CLI::App& app);
Action declare_doctor(CLI::App& app);
Action declare_load(CLI::App& app);
Action declare_estimate(CLI::App& app);
Action declare_show(CLI::App& app);
Action declare_search(CLI::App& app);
Action declare_pull(CLI::App& app);
Action declare_downloads(CLI::App& app);
Action declare_rm(CLI::App& app);
Action declare_alias(CLI::App& app);
Action declare_import(CLI::App& app);
Action declare_unimport(CLI::App& app);
Action declare_verify(CLI::App& app);
Action declare_unload(CLI::App& app);
Action declare_pin(CLI::App& app);
Action declare_unpin(CLI::App& app);
Action declare_run(CLI::App& app);
Action declare_transcribe(CLI::App& app);
Action declare_speak(CLI::App& app);
Action declare_bench(CLI::App& app);
Action declare_launch(CLI::App& app);
Action declare_config(CLI::App& app);
Action declare_key(CLI::App& app);
Action declare_mesh(CLI::App& app);
Action declare_version(CLI::App& app);

}  // namespace corral::cli
