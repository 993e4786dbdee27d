#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/answer_fields.h"
#include "cli/server/download_wire.h"
#include "cli/server/url_text.h"
#include "cli/terminal/table.h"

namespace corral::cli {
namespace {

constexpr const char* kAliases = "/internal/aliases";

Result<int> list_aliases(CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::get(kAliases));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto aliases = parse_aliases(*text);
  if (!aliases) return std::unexpected(aliases.error());
  Table table({{"ALIAS"}, {"MODEL"}, {"HERE"}});
  for (const auto& row : *aliases) table.add({row.alias, row.target, row.here ? "yes" : "no"});
  table.print(context.terminal);
  return kExitOk;
}

Result<int> set_alias(const std::string& alias, const std::string& model, CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::post(kAliases, text_object({{"alias", alias}, {"target", model}})));
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

struct AliasRequest {
  std::string alias, model;
  bool remove = false;
};

Result<int> alias_command(const AliasRequest& request, CommandContext& context) {
  if (request.alias.empty()) return list_aliases(context);
  if (request.remove && !request.model.empty()) return fail(errc::usage, "--remove takes an alias and no model");
  if (request.remove) return remove_alias(request.alias, context);
  if (!request.model.empty()) return set_alias(request.alias, request.model, context);
  return fail(errc::usage,
              fmt::format("alias '{0}' needs a model: corral alias {0} MODEL, or --remove", request.alias));
}

}  // namespace

Action declare_alias(CLI::App& app) {
  const auto request = std::make_shared<AliasRequest>();
  app.add_option("ALIAS", request->alias, "The alias; without it, list aliases")->type_name("");
  app.add_option("MODEL", request->model, "The model of the alias")->type_name("");
  app.add_flag("--remove", request->remove, "Remove the alias; the model stays");
  return [request](CommandContext& context) { return alias_command(*request, context); };
}

}  // namespace corral::cli
