#include <algorithm>
#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/format.h"
#include "cli/table.h"
#include "cli/wire.h"

namespace corral::cli {
namespace {

Result<int> list(const std::string& filter, Context& context) {
  const auto text = fetch(context.api, ApiRequest::get("/api/v1/models?rescan=true"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto models = parse_models(*text);
  if (!models) return std::unexpected(models.error());
  if (models->empty()) {
    context.terminal.err
        << "The server knows no models. Give it a folder with GGUF files: corral serve --models-dir DIR\n";
    return kExitOk;
  }
  const bool mesh = std::ranges::any_of(*models, [](const ListedModel& model) { return !model.nodes.empty(); });
  std::vector<Column> columns = {{"NAME"},  {"TYPE"}, {"RECIPE"}, {"SIZE", Align::right}, {"CONTEXT", Align::right},
                                 {"QUANT"}, {"STATE"}};
  if (mesh) columns.push_back({"NODES"});
  Table table(std::move(columns));
  for (const ListedModel& model : *models) {
    if (model.name.find(filter) == std::string::npos) continue;
    std::vector<std::string> cells = {model.name,
                                      or_unknown(model.type),
                                      or_unknown(model.recipe),
                                      size_or_unknown(model.size),
                                      context_or_unknown(model.context, model.max_context),
                                      or_unknown(model.quantization),
                                      or_unknown(model.state)};
    if (mesh) cells.push_back(fmt::format("{}", fmt::join(model.nodes, ", ")));
    table.add(std::move(cells));
  }
  table.print(context.terminal);
  return kExitOk;
}

}  // namespace

Action declare_list(CLI::App& app) {
  const auto filter = std::make_shared<std::string>();
  app.add_option("FILTER", *filter, "Only models whose name contains this")->type_name("");
  return [filter](Context& context) { return list(*filter, context); };
}

}  // namespace corral::cli
