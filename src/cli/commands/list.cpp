#include <algorithm>
#include <memory>
#include <span>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "base/host_memory.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/pulling.h"
#include "cli/server/reply_parser.h"
#include "cli/terminal/format.h"
#include "cli/terminal/table.h"
#include "cli/terminal/table_flags.h"

namespace corral::cli {
namespace {

struct ListRequest {
  std::string filter;
  bool all = false;

  bool takes(std::string_view name) const {
    return CLI::detail::to_lower(std::string(name)).contains(CLI::detail::to_lower(filter));
  }
};

// Adds known models that aren't among `here`, and running or failed downloads.
Result<> add_what_is_not_here(Table& table, const ListRequest& request, std::span<const ListedModel> here, bool mesh,
                              const CommandContext& context) {
  const auto known = known_models(context);
  const auto memory = read_host_memory().total;
  const auto add = [&](std::vector<std::string> cells) {
    if (mesh) cells.emplace_back();
    table.add(std::move(cells));
  };
  for (const auto& model : known.models) {
    const bool is_here = std::ranges::find(here, model.source(), &ListedModel::name) != here.end();
    if (is_here || !request.takes(model.name)) continue;
    const auto size = config::estimated_size(model);
    const bool fits = memory == 0 || config::estimated_memory(size) <= memory;
    add({model.name, std::string(name_of(model.type)), std::string(kUnknown), "~" + human_bytes(size),
         std::string(kUnknown), or_unknown(model.quantisation), fits ? "not downloaded" : "not downloaded, too large"});
  }
  // A server without downloads has no such list.
  const auto text = context.api.call(ApiRequest::get("/api/v1/downloads"));
  if (!text) return std::unexpected(text.error());
  const auto downloads = text->status < 400 ? parse_downloads(text->body) : std::vector<DownloadProgress>();
  if (!downloads) return std::unexpected(downloads.error());
  for (const auto& download : *downloads) {
    if (download.status == "completed" || download.status == "cancelled") continue;
    if (!request.takes(download.model_name)) continue;
    const auto size = download.total > 0 ? human_bytes(download.total) : std::string(kUnknown);
    add({download.model_name, std::string(kUnknown), std::string(kUnknown), size, std::string(kUnknown),
         std::string(kUnknown), fmt::format("{}, {}", download.status, percent(download.share()))});
  }
  return {};
}

void print_no_models(const CommandContext& context) {
  context.terminal.err << "No models found. corral run lists models that fit the machine, corral search searches the "
                          "hub, and corral serve --models-dir DIR serves a folder.\n";
}

Result<int> list(const ListRequest& request, CommandContext& context) {
  const char* const path =
      request.all && context.json ? "/api/v1/models?rescan=true&show_all=true" : "/api/v1/models?rescan=true";
  const auto text = fetch(context.api, ApiRequest::get(path));
  if (!text) return std::unexpected(text.error());
  if (context.json && request.filter.empty()) return print_json(context, *text);
  if (context.json) {
    const auto taken = filtered_models(*text, [&request](std::string_view name) { return request.takes(name); });
    if (!taken) return std::unexpected(taken.error());
    return print_json(context, *taken);
  }
  const auto models = parse_models(*text);
  if (!models) return std::unexpected(models.error());
  if (models->empty() && !request.all) {
    print_no_models(context);
    return kExitOk;
  }
  const bool mesh = std::ranges::any_of(*models, [](const ListedModel& model) { return !model.nodes.empty(); });
  std::vector<Column> columns = {{"NAME"},
                                 {"TYPE", Align::left, 2},
                                 {"RECIPE", Align::left, 6},
                                 {"SIZE", Align::right, 1},
                                 {"CONTEXT", Align::right, 3},
                                 {"QUANT", Align::left, 5},
                                 {"STATE"}};
  if (mesh) columns.push_back({"NODES", Align::left, 4});
  Table table(std::move(columns));
  for (const ListedModel& model : *models) {
    if (!request.takes(model.name)) continue;
    std::vector<std::string> cells = {
        model.name,
        or_unknown(model.type),
        or_unknown(model.recipe),
        model.size == 0 ? std::string(kUnknown) : size_or_unknown(model.size),
        context_or_unknown(model.context, model.max_context),
        or_unknown(model.quantization),
        model.alias_of.empty() ? or_unknown(model.state) : fmt::format("alias of {}", model.alias_of)};
    if (mesh) cells.push_back(fmt::format("{}", fmt::join(model.nodes, ", ")));
    table.add(std::move(cells));
  }
  if (request.all) {
    const auto added = add_what_is_not_here(table, request, *models, mesh, context);
    if (!added) return std::unexpected(added.error());
  }
  if (table.empty()) {
    context.terminal.err << fmt::format("No model's name contains '{}'.\n", printable(request.filter));
    return kExitOk;
  }
  table.print(context.terminal);
  return kExitOk;
}

}  // namespace

Action declare_list(CLI::App& app) {
  const auto request = std::make_shared<ListRequest>();
  app.add_option("FILTER", request->filter, "Only models whose name contains this")->type_name("");
  app.add_flag("--all", request->all, "Also known models that are not downloaded, and downloads");
  add_table_flags(app);
  return [request](CommandContext& context) { return list(*request, context); };
}

}  // namespace corral::cli
