#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/reply_parser.h"
#include "cli/terminal/format.h"

namespace corral::cli {
namespace {

// "llm 1/2, embedding 1": models in memory and slots, for each type with models in memory.
std::string slots_text(const Health& health) {
  std::map<std::string, std::int64_t> loaded;
  for (const LoadedModel& model : health.loaded) ++loaded[model.type.empty() ? "llm" : model.type];
  std::string text;
  for (const auto& [type, count] : loaded) {
    const auto limit = health.max_models.find(type);
    const bool limited = limit != health.max_models.end() && limit->second >= 0;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", type, count);
    if (limited) text += fmt::format("/{}", limit->second);
  }
  return text;
}

Result<int> status(CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::get("/api/v1/health"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto health = parse_health(*text);
  if (!health) return std::unexpected(health.error());
  const Terminal& terminal = context.terminal;
  const std::string version = health->version.empty() ? "" : " " + health->version;
  terminal.out << terminal.paint(Style::green, fmt::format("corral{} responds at {}", version, context.api.url()))
               << '\n';
  const std::string slots = slots_text(*health);
  terminal.out << fmt::format("in memory  {}{}\n", health->loaded.size(),
                              slots.empty() ? "" : fmt::format(" ({})", slots));
  for (const LoadingModel& model : health->loading) {
    terminal.out << fmt::format("loading    {} {}\n", printable(model.name), percent(model.progress));
  }
  if (!health->queue.empty()) terminal.out << fmt::format("waiting    {} loads\n", health->queue.size());
  if (health->model_problem_count > 0) {
    const auto more = health->model_problem_count - static_cast<std::int64_t>(health->model_problems.size());
    for (const auto& problem : health->model_problems) terminal.err << printable("warning: " + problem.message) << '\n';
    if (more > 0) terminal.err << fmt::format("warning: {} more files or folders give no model\n", more);
  }
  for (const auto& problem : health->problems) terminal.err << printable("warning: " + problem) << '\n';
  return kExitOk;
}

}  // namespace

Action declare_status(CLI::App&) {
  return [](CommandContext& context) { return status(context); };
}

}  // namespace corral::cli
