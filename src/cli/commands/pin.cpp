#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "base/shell_word.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/reply_parser.h"

namespace corral::cli {
namespace {

Result<int> pin(const std::string& model, bool pinned, CommandContext& context) {
  auto text = fetch(context.api, ApiRequest::post("/internal/pin", pin_body(model, pinned)));
  const auto* const code = text ? nullptr : text.error().fact<ServerCode>();
  if (pinned && code != nullptr && code->code == "model_not_loaded")
    text.error().message += fmt::format("; load it with: corral load {} --pinned", shell_word(model));
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
