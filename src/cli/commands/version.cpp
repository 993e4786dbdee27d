#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/reply_parser.h"

namespace corral::cli {
namespace {

// Works without a server: its line is missing then.
std::string server_version(ServerApi& api) {
  const auto text = fetch(api, ApiRequest::get("/api/v1/health"));
  if (!text) return {};
  const auto health = parse_health(*text);
  return health ? health->version : std::string();
}

Result<int> version(CommandContext& context) {
  const Hooks& hooks = context.hooks;
  const std::string server = server_version(context.api);
  if (context.json) {
    std::vector<std::pair<std::string, std::string>> fields{{"version", hooks.version}};
    fields.insert(fields.end(), hooks.components.begin(), hooks.components.end());
    if (!server.empty()) fields.emplace_back("server", server);
    return print_json(context, text_object(fields));
  }
  std::ostream& out = context.terminal.out;
  out << "corral " << hooks.version << '\n';
  for (const auto& [name, value] : hooks.components) out << name << ' ' << value << '\n';
  if (!server.empty()) out << fmt::format("server {} at {}\n", printable(server), context.api.url());
  return kExitOk;
}

}  // namespace

Action declare_version(CLI::App&) {
  return [](CommandContext& context) { return version(context); };
}

}  // namespace corral::cli
