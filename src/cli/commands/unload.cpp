#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/loading.h"
#include "cli/server/reply_parser.h"

namespace corral::cli {
namespace {

Result<int> unload(const std::string& model, CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/unload", unload_body(model)));
  const auto* const code = text ? nullptr : text.error().fact<ServerCode>();
  // A mistyped name isn't loaded either.
  if (code != nullptr && code->code == "model_not_loaded") {
    if (const auto known = fetch(context.api, ApiRequest::get(model_path(model))); !known)
      return std::unexpected(known.error());
  }
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  std::ostream& out = context.terminal.out;
  if (!model.empty()) {
    out << model << " is unloaded\n";
    return kExitOk;
  }
  const auto outcome = parse_unloaded(*text);
  if (!outcome) return std::unexpected(outcome.error());
  for (const std::string& name : outcome->unloaded) out << printable(name) << " is unloaded\n";
  for (const std::string& name : outcome->draining) out << printable(name) << " finishes its running requests first\n";
  if (outcome->unloaded.empty() && outcome->draining.empty()) out << "No model was in memory\n";
  return kExitOk;
}

}  // namespace

Action declare_unload(CLI::App& app) {
  const auto model = std::make_shared<std::string>();
  app.add_option("MODEL", *model, "Name of the model; without it, all are unloaded")->type_name("");
  return [model](CommandContext& context) { return unload(*model, context); };
}

}  // namespace corral::cli
