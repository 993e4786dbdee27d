#include "cli/man.h"

#include <utility>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/errors.h"
#include "cli/program.h"
#include "config/docs.h"

namespace corral::cli {
namespace {

using config::mdoc_argument;
using config::mdoc_text;

constexpr std::string_view kProgramIntro = R"(.Dt CORRAL 1
.Os corral
.Sh NAME
.Nm corral
.Nd one endpoint for many local models
.Sh SYNOPSIS
.Nm
.Ar command
.Op Ar options
.Sh DESCRIPTION
.Nm corral serve
finds the GGUF models on this machine and loads the model that a request names, each in its own process, behind one
OpenAI\-compatible port.
Every other command sends HTTP requests to a running server, on this machine or another.
.Sh COMMANDS
)";

constexpr std::string_view kFiles = R"(.Sh FILES
.Bl -tag -width Ds
.It Pa /etc/corral/config.toml
Configuration of the service.
.It Pa /var/lib/corral
State of the service: keys, options of models, logs of engines.
.It Pa /var/cache/corral
Models of the service; members of the group corral can add files to
.Pa /var/cache/corral/models .
.It Pa ~/.config/corral/config.toml
Configuration of a server that a user starts.
.El
)";

constexpr std::string_view kServerGroup = "Server";

// Flags that every command has are listed once.
bool is_common(const CLI::Option& option) {
  return option.get_group() == kServerGroup || option.check_lname("json") || option.check_lname("help");
}

void add_option(std::string& page, const CLI::Option& option) {
  page += ".It";
  if (option.get_positional()) {
    page += " Ar " + mdoc_argument(option.get_name(true));
  } else {
    std::string comma;
    for (const auto& name : option.get_snames()) page += std::exchange(comma, " ,") + " Fl " + mdoc_text(name);
    for (const auto& name : option.get_lnames()) page += std::exchange(comma, " ,") + " Fl " + mdoc_text("-" + name);
    if (!option.get_type_name().empty()) page += " Ar " + mdoc_argument(option.get_type_name());
  }
  page += '\n' + mdoc_text(option.get_description()) + '\n';
}

void add_options(std::string& page, const CLI::App& command, bool common) {
  std::string items;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty() && is_common(*option) == common) add_option(items, *option);
  }
  if (!items.empty()) page += ".Bl -tag -width Ds\n" + items + ".El\n";
}

void add_command(std::string& page, const CLI::App& command, const std::string& parents) {
  const std::string name = parents + command.get_name();
  page += fmt::format(".Ss corral {}\n{}.\n", mdoc_text(name), mdoc_text(command.get_description()));
  add_options(page, command, false);
  for (const CLI::App* sub : command.get_subcommands(nullptr)) add_command(page, *sub, name + " ");
}

void add_commands(std::string& page, const CLI::App& program) {
  const CLI::App* client = nullptr;
  for (const CLI::App* command : program.get_subcommands(nullptr)) {
    add_command(page, *command, "");
    if (client == nullptr && command->get_name() != "serve") client = command;
  }
  page += ".Ss Options of all commands but serve\n";
  if (client != nullptr) add_options(page, *client, true);
}

}  // namespace

std::string man_page(std::string_view date) {
  std::string page = fmt::format(".Dd {}\n{}", date, kProgramIntro);
  with_command_line([&page](const CLI::App& program) { add_commands(page, program); });
  page += kFiles;
  page += ".Sh EXIT STATUS\n.Bl -tag -width Ds\n";
  for (const ExitCode& row : exit_codes()) page += fmt::format(".It {}\n{}\n", row.code, mdoc_text(row.meaning));
  page += ".El\n.Sh SEE ALSO\n.Xr corral-config 5\n";
  return page;
}

}  // namespace corral::cli
