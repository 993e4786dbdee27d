#include <memory>

#include <CLI/App.hpp>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/reply_parser.h"

namespace corral::cli {
namespace {

Result<int> pin(const std::string& model, bool pinned, CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::post("/internal/pin", pin_body(model, pinned)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  context.terminal.out << model << (pinned ? " is pinned\n" : " is unpinned\n");
  return kExitOk;
}

Action declare(CLI::App& app, bool pinned) {
  const auto model = std::make_shared<std::string>();
  app.add_option("MODEL", *model, pinned ? "Name of a model in memory" : "Name of the model")
      ->required()
      ->type_name("");
  return [model, pinned](CommandContext& context) { return pin(*model, pinned, context); };
}

}  // namespace

Action declare_pin(CLI::App& app) { return declare(app, true); }
Action declare_unpin(CLI::App& app) { return declare(app, false); }

}  // namespace corral::cli
