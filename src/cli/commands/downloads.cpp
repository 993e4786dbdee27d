#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/download_wire.h"
#include "cli/terminal/file_bars.h"
#include "cli/terminal/format.h"
#include "cli/terminal/table.h"
#include "cli/terminal/table_flags.h"

namespace corral::cli {
namespace {

std::string left_text(const DownloadProgress& download) {
  return download.seconds_left && *download.seconds_left >= 0 ? human_duration(Millis(*download.seconds_left * 1'000))
                                                              : std::string();
}

Result<int> list_downloads(CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::get("/api/v1/downloads"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto downloads = parse_downloads(*text);
  if (!downloads) return std::unexpected(downloads.error());
  if (downloads->empty()) {
    context.terminal.err << "No downloads. Start one with: corral pull NAME\n";
    return kExitOk;
  }
  Table table({{"NAME"},
               {"STATUS"},
               {"DONE", Align::right},
               {"SIZE", Align::right, 2},
               {"RATE", Align::right, 3},
               {"LEFT", Align::right, 1}});
  for (const auto& download : *downloads) {
    const bool known = download.total > 0;
    const bool moves = download.status == "downloading";
    table.add({download.model_name, download.status, known ? percent(download.share()) : std::string(kUnknown),
               known ? human_bytes(download.total) : std::string(kUnknown),
               moves && download.rate ? human_bytes(*download.rate) + "/s" : std::string(),
               moves ? left_text(download) : std::string()});
  }
  table.print(context.terminal);
  for (const auto& download : *downloads) {
    if (download.error.empty()) continue;
    context.terminal.err << printable(fmt::format("{}: {}\n", download.model_name, download.error));
  }
  return kExitOk;
}

std::string outcome_of(const std::string& action, const DownloadProgress& download) {
  const auto far = download.done > 0 && download.done < download.total
                       ? fmt::format(", {} of {} downloaded", human_bytes(download.done), human_bytes(download.total))
                       : std::string();
  if (action == "pause")
    return fmt::format("{0} is paused{1}; resume with: corral downloads resume {0}", download.model_name, far);
  if (action == "resume") return fmt::format("{} is resumed{}", download.model_name, far);
  return fmt::format("{} is cancelled, and its partial files are removed", download.model_name);
}

Result<int> control(const std::string& action, const std::string& name, CommandContext& context) {
  const auto body = text_object({{name.starts_with("model:") ? "id" : "model_name", name}, {"action", action}});
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/downloads/control", body));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  if (action == "remove") {
    context.terminal.out << printable(fmt::format("{} is removed from the list\n", name));
    return kExitOk;
  }
  auto download = parse_download(*text);
  if (!download) return std::unexpected(download.error());
  if (download->model_name.empty()) download->model_name = name;
  context.terminal.out << printable(outcome_of(action, *download)) << '\n';
  return kExitOk;
}

}  // namespace

Action declare_downloads(CLI::App& app) {
  struct Row {
    const char* action;
    const char* help;
  };
  static constexpr Row kRows[] = {
      {"pause", "Pause a download and keep its data"},
      {"resume", "Resume a download"},
      {"cancel", "Cancel a download and remove its partial files; files that were complete before stay"},
      {"remove", "Cancel it, and remove it from the list"},
  };
  const auto name = std::make_shared<std::string>();
  std::vector<CLI::App*> actions;
  for (const auto& row : kRows) {
    auto* sub = app.add_subcommand(row.action, row.help);
    sub->add_option("NAME", *name, "Name of the download in the list")->required()->type_name("");
    sub->fallthrough();
    actions.push_back(sub);
  }
  add_table_flags(app);
  app.require_subcommand(0, 1);
  return [name, actions](CommandContext& context) {
    for (const auto* sub : actions)
      if (sub->parsed()) return control(sub->get_name(), *name, context);
    return list_downloads(context);
  };
}

}  // namespace corral::cli
