#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "base/shell_word.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/answer_fields.h"
#include "cli/server/download_wire.h"
#include "cli/server/url_text.h"
#include "cli/terminal/table.h"
#include "cli/terminal/table_flags.h"

namespace corral::cli {
namespace {

constexpr const char* kAliases = "/internal/aliases";
constexpr std::size_t kMaxShown = 60;  // bytes of defaults

std::string shown(std::string text) {
  if (text.size() <= kMaxShown) return text;
  text.resize(kMaxShown);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  text.pop_back();
  return text += "…";
}

struct AliasRequest {
  std::string alias, model, system;
  std::vector<std::string> fields;  // "temperature=0.2"
  bool remove = false;
};

Result<int> list_aliases(CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::get(kAliases));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto aliases = parse_aliases(*text);
  if (!aliases) return std::unexpected(aliases.error());
  Table table({{"ALIAS"}, {"MODEL"}, {"HERE", Align::left, 1}, {"DEFAULTS", Align::left, 2}});
  for (const auto& row : *aliases) table.add({row.alias, row.target, row.here ? "yes" : "no", shown(row.defaults)});
  table.print(context.terminal);
  return kExitOk;
}

// Values are JSON, or else texts: temperature=0.2, reasoning_effort=low.
Result<json::Object> defaults_of(const AliasRequest& request) {
  json::Object defaults;
  for (const auto& field : request.fields) {
    const auto mark = field.find('=');
    if (mark == std::string::npos || mark == 0)
      return fail(errc::usage, fmt::format("'{}' is not FIELD=VALUE, such as temperature=0.2", field));
    const auto value = field.substr(mark + 1);
    auto parsed = json::parse(value);
    defaults[field.substr(0, mark)] = parsed ? std::move(*parsed) : json::Value(value);
  }
  if (!request.system.empty()) defaults["system"] = request.system;
  return defaults;
}

Result<int> set_alias(const AliasRequest& request, CommandContext& context) {
  const auto& [alias, model, system, fields, remove] = request;
  auto defaults = defaults_of(request);
  if (!defaults) return std::unexpected(defaults.error());
  json::Object body{{"alias", alias}, {"target", model}};
  if (!defaults->empty()) body["defaults"] = std::move(*defaults);
  const auto text = fetch(context.api, ApiRequest::post(kAliases, json::serialize(json::Value(std::move(body)))));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto answer = parse_answer(*text);
  const auto warning = answer ? text_of(*answer, "warning") : std::string();
  if (!warning.empty()) context.terminal.err << printable(fmt::format("warning: {}\n", warning));
  context.terminal.out << printable(fmt::format("{} is an alias of {}\n", alias, model));
  return kExitOk;
}

Result<int> remove_alias(const std::string& alias, CommandContext& context) {
  const auto text = fetch(context.api, {"DELETE", fmt::format("{}/{}", kAliases, escaped(alias)), {}});
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  context.terminal.out << printable(fmt::format("alias {} is removed\n", alias));
  return kExitOk;
}

Result<int> alias_command(const AliasRequest& request, CommandContext& context) {
  if (request.alias.empty()) return list_aliases(context);
  const bool has_defaults = !request.system.empty() || !request.fields.empty();
  if (has_defaults && request.model.empty())
    return fail(errc::usage, "--system and --set need a model: corral alias ALIAS MODEL --set FIELD=VALUE");
  if (request.remove && !request.model.empty()) return fail(errc::usage, "--remove takes an alias and no model");
  if (request.remove) return remove_alias(request.alias, context);
  if (!request.model.empty()) return set_alias(request, context);
  return fail(errc::usage, fmt::format("alias '{}' needs a model: corral alias {} MODEL, or --remove", request.alias,
                                       shell_word(request.alias)));
}

}  // namespace

Action declare_alias(CLI::App& app) {
  const auto request = std::make_shared<AliasRequest>();
  app.add_option("ALIAS", request->alias, "The alias; without it, list aliases")->type_name("");
  app.add_option("MODEL", request->model, "The model of the alias")->type_name("");
  app.add_option("--system", request->system, "System message of chats by this alias that have none")
      ->type_name("TEXT");
  app.add_option("--set", request->fields, "Default value of a request field, such as temperature=0.2; repeatable")
      ->type_name("FIELD=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--remove", request->remove, "Remove the alias; the model stays");
  add_table_flags(app);
  return [request](CommandContext& context) { return alias_command(*request, context); };
}

}  // namespace corral::cli
