#include <iostream>
#include <string_view>

#include <unistd.h>

#include "cli/cli.h"
#include "cli/program.h"
#include "cli/server/http_api.h"
#include "cli/server/server_starter.h"
#include "cli/terminal/interrupts.h"
#include "cli/terminal/line_editor.h"
#include "config/paths.h"

namespace corral::cli {
namespace {

constexpr const char* kServiceFile = "/etc/corral/config.toml";  // of the packages' unit

// An input that always fails: the server uses neither signals nor standard input here.
class NoInput final : public LineInput {
 public:
  InputLine read_line() override { return {}; }
  InputLine read_all() override { return {}; }
  bool is_piped() const override { return false; }
};

// Removes tokens from the arguments, where lists of processes show them.
void hide_tokens(int argc, char** argv) {
  constexpr std::string_view kBegin = "corral-join_";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    const auto at = argument.find(kBegin);
    if (at == std::string_view::npos) continue;
    for (std::size_t j = at + kBegin.size(); j < argument.size(); ++j) argv[i][j] = '*';
  }
}

}  // namespace

int main_entry(int argc, char** argv, const Hooks& hooks) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  hide_tokens(argc, argv);
  for (const HiddenCommand& hidden : hooks.hidden) {
    if (!arguments.empty() && arguments.front() == hidden.name) return hidden.run(argc, argv);
  }
  const auto environment = config::process_environment();
  const SystemClock clock;
  if (!arguments.empty() && arguments.front() == "serve") {
    NoInput input;
    ProgramIo surroundings{environment, process_terminal(environment), input, clock, {}};
    return run_program(arguments, hooks, surroundings);
  }
  SystemInterrupts interrupts;
  const Terminal terminal = process_terminal(environment);
  StandardInput plain(STDIN_FILENO, interrupts);
  const MessageHistory history(config::Paths::from(environment).state_home / "corral" / "chat_history");
  LineEditor editor(plain, history);
  const bool edits = terminal.in_tty && terminal.out_tty && environment("TERM").value_or("dumb") != "dumb";
  LineInput& input = edits ? static_cast<LineInput&>(editor) : plain;
  const auto connect = [&](const Address& address) { return connect_http(address, interrupts); };
  const auto start = [&](const Address& address, const config::Inputs& inputs) {
    return start_server(address, inputs, interrupts);
  };
  ProgramIo surroundings{environment, terminal, input, clock, connect, start, kServiceFile};
  return run_program(arguments, hooks, surroundings);
}

}  // namespace corral::cli
