#include <iostream>

#include <unistd.h>

#include "cli/cli.h"
#include "cli/http_api.h"
#include "cli/interrupts.h"
#include "cli/program.h"

namespace corral::cli {
namespace {

// Fails where an input is needed and none may be read: the server leaves signals and standard input alone.
class NoInput final : public LineInput {
 public:
  InputLine read_line() override { return {}; }
  InputLine read_all() override { return {}; }
  bool is_piped() const override { return false; }
};

}  // namespace

int main_entry(int argc, char** argv, const Hooks& hooks) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (const HiddenCommand& hidden : hooks.hidden) {
    if (!arguments.empty() && arguments.front() == hidden.name) return hidden.run(argc, argv);
  }
  const auto environment = config::process_environment();
  const SystemClock clock;
  if (!arguments.empty() && arguments.front() == "serve") {
    NoInput input;
    Surroundings surroundings{environment, process_terminal(environment), input, clock, {}};
    return run_program(arguments, hooks, surroundings);
  }
  SystemInterrupts interrupts;
  StandardInput input(STDIN_FILENO, interrupts);
  const auto connect = [&](const Address& address) { return connect_http(address, interrupts); };
  Surroundings surroundings{environment, process_terminal(environment), input, clock, connect};
  return run_program(arguments, hooks, surroundings);
}

}  // namespace corral::cli
