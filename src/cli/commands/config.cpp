#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "base/close_names.h"
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

using Assignments = std::vector<std::pair<std::string, std::string>>;

Result<> print_set(CommandContext& context, const std::string& text) {
  if (context.json) {
    print_json(context, text);
    return {};
  }
  const auto updated = parse_updated_settings(text);
  if (!updated) return std::unexpected(updated.error());
  for (const UpdatedSetting& row : *updated) {
    const std::string line = fmt::format("{} is {} {}", row.key, row.value, when(row.applies));
    context.terminal.out << printable(line) << '\n';
  }
  return {};
}

// After the server has rejected all: those that it accepts alone. The others are reported.
Result<int> set_one_by_one(const Assignments& values, CommandContext& context) {
  for (const auto& value : values) {
    const auto reply = context.api.call(ApiRequest::post("/internal/set", set_body({value})));
    if (!reply) return std::unexpected(reply.error());
    if (reply->status >= 400 && !context.json) {
      const auto cause = refusal(context.api, *reply).message;
      context.terminal.err << printable(fmt::format("corral: {} is not set: {}\n", value.first, cause));
      continue;
    }
    if (const auto printed = print_set(context, reply->body); !printed) return std::unexpected(printed.error());
  }
  return kExitFailed;
}

Result<int> set(const std::vector<std::string>& assignments, CommandContext& context) {
  Assignments values;
  for (const std::string& assignment : assignments) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(errc::usage, fmt::format("'{}' is not KEY=VALUE", assignment));
    }
    values.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  // At once, because some values are valid only together.
  const auto reply = context.api.call(ApiRequest::post("/internal/set", set_body(values)));
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 400 && values.size() > 1) return set_one_by_one(values, context);
  if (reply->status >= 400) return std::unexpected(refusal(context.api, *reply));
  if (const auto printed = print_set(context, reply->body); !printed) return std::unexpected(printed.error());
  return kExitOk;
}

Result<int> get(const std::string& key, CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::get("/internal/config"));
  if (!text) return std::unexpected(text.error());
  const auto settings = parse_settings(*text);
  if (!settings) return std::unexpected(settings.error());
  const auto* const row = settings->find(key);
  if (row == nullptr) {
    std::vector<std::string> keys;
    keys.reserve(settings->rows.size());
    for (const Setting& one : settings->rows) keys.push_back(one.key);
    const auto close = close_names(key, keys, 1);
    return fail(errc::usage, fmt::format("there is no setting '{}'{}", key,
                                         close.empty() ? "" : fmt::format("; did you mean {}?", close.front())));
  }
  if (context.json) return print_json(context, setting_object(*text, key));
  context.terminal.out << (context.terminal.out_tty ? printable(row->value) : row->value) << '\n';
  if (!row->after_restart.empty())
    context.terminal.err << printable(fmt::format("after a restart of the server: {}\n", row->after_restart));
  return kExitOk;
}

}  // namespace

Action declare_config(CLI::App& app) {
  const auto assignments = std::make_shared<std::vector<std::string>>();
  auto* setting = app.add_subcommand("set", "Change settings of the running server; KEY=null removes a set value");
  setting
      ->add_option(
          "ASSIGNMENT", *assignments,
          "KEY=VALUE, such as port=8080; if the server rejects one, the others are set, and the exit code is 1")
      ->required()
      ->type_name("");
  setting->fallthrough();
  add_table_flags(app);
  const auto key = std::make_shared<std::string>();
  auto* getting = app.add_subcommand("get", "Print the value of one setting");
  getting->add_option("KEY", *key, "Name of the setting")->required()->type_name("");
  getting->fallthrough();
  return [assignments, key, setting, getting](CommandContext& context) {
    if (getting->parsed()) return get(*key, context);
    return setting->parsed() ? set(*assignments, context) : show(context);
  };
}

}  // namespace corral::cli
