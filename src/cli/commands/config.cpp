#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/reply_parser.h"
#include "cli/terminal/table.h"
#include "cli/terminal/table_flags.h"

namespace corral::cli {
namespace {

Result<int> show(CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::get("/internal/config"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto settings = parse_settings(*text);
  if (!settings) return std::unexpected(settings.error());
  Table table({{"SETTING"}, {"VALUE"}, {"FROM", Align::left, 2}, {"AFTER A RESTART", Align::left, 1}});
  for (const Setting& row : settings->rows) table.add({row.key, row.value, row.where, row.after_restart});
  table.print(context.terminal);
  if (!settings->problem.empty()) {
    const std::string warning = "warning: configuration file ignored: " + settings->problem;
    context.terminal.err << printable(warning) << '\n';
  }
  return kExitOk;
}

// When a value takes effect, in words.
std::string_view when(std::string_view applies) {
  if (applies == "now") return "now";
  if (applies == "next_load") return "from the next load on";
  return "after a restart of the server";
}

Result<int> set(const std::vector<std::string>& assignments, CommandContext& context) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& assignment : assignments) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(errc::usage, fmt::format("'{}' is not KEY=VALUE", assignment));
    }
    values.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  const auto text = fetch(context.api, ApiRequest::post("/internal/set", set_body(values)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto updated = parse_updated_settings(*text);
  if (!updated) return std::unexpected(updated.error());
  for (const UpdatedSetting& row : *updated) {
    const std::string line = fmt::format("{} is {} {}", row.key, row.value, when(row.applies));
    context.terminal.out << printable(line) << '\n';
  }
  return kExitOk;
}

}  // namespace

Action declare_config(CLI::App& app) {
  const auto assignments = std::make_shared<std::vector<std::string>>();
  auto* setting = app.add_subcommand("set", "Change settings of the running server; KEY=null removes a set value");
  setting->add_option("ASSIGNMENT", *assignments, "KEY=VALUE, such as port=8080; all apply, or none")
      ->required()
      ->type_name("");
  setting->fallthrough();
  add_table_flags(app);
  return [assignments, setting](CommandContext& context) {
    return setting->parsed() ? set(*assignments, context) : show(context);
  };
}

}  // namespace corral::cli
