#include <ctime>

#include <CLI/App.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/reply_parser.h"
#include "cli/terminal/format.h"

namespace corral::cli {
namespace {

std::string clock_text(std::int64_t epoch_millis) {
  const std::time_t seconds = epoch_millis / 1000;
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return fmt::format("{:%H:%M:%S}.{:03}", parts, epoch_millis % 1000);
}

std::string queue_text(const Health& health) {
  if (health.queue.empty()) return "the load queue is empty";
  std::vector<std::string> names;
  names.reserve(health.queue.size());
  for (const QueuedLoad& load : health.queue) {
    names.push_back(load.waiting_for.empty()
                        ? load.name
                        : fmt::format("{} (for {})", load.name, fmt::join(load.waiting_for, ", ")));
  }
  return fmt::format("load queue: {}", fmt::join(names, ", "));
}

std::string snapshot_text(const Health& health) {
  std::vector<std::string> names;
  names.reserve(health.loaded.size() + health.loading.size());
  for (const LoadedModel& model : health.loaded) names.push_back(fmt::format("{} ({})", model.name, model.status));
  for (const LoadingModel& model : health.loading) {
    names.push_back(fmt::format("{} (loading {})", model.name, percent(model.progress)));
  }
  auto text = names.empty() ? "no model in memory" : fmt::format("in memory: {}", fmt::join(names, ", "));
  return health.queue.empty() ? text : text + "; " + queue_text(health);
}

std::string server_text(const ServerEvent& event) {
  auto text = fmt::format("{}: {}", event.model, event.status);
  if (event.active_requests > 0)
    text += fmt::format(", {} request{}", event.active_requests, event.active_requests == 1 ? "" : "s");
  if (!event.reason.empty()) text += fmt::format(" ({})", event.reason);
  return event.cause.empty() ? text : text + ": " + event.cause;
}

std::string load_text(const ServerEvent& event) {
  if (event.stage == "progress") return fmt::format("{}: loading {}", event.model, percent(event.progress));
  if (event.stage == "finished")
    return fmt::format("{}: loaded in {}", event.model, human_duration(Millis(event.load_duration_ms)));
  auto text = fmt::format("{}: load {}", event.model, event.stage);
  if (!event.reason.empty() && event.reason != "none") text += fmt::format(" ({})", event.reason);
  return event.cause.empty() ? text : text + ": " + event.cause;
}

std::string limits_text(const Health& health) {
  std::vector<std::string> limits;
  limits.reserve(health.max_models.size());
  for (const auto& [type, slots] : health.max_models) limits.push_back(fmt::format("{} {}", type, slots));
  return fmt::format("limits: {}", fmt::join(limits, ", "));
}

std::string mesh_text(const ServerEvent& event) {
  const auto with_cause = [&](std::string text) { return event.cause.empty() ? text : text + ": " + event.cause; };
  if (event.change == "status") return with_cause("mesh: " + event.status);
  if (event.change == "model")
    return fmt::format("mesh: {} is {}", event.model, event.status.empty() ? "gone" : event.status);
  if (event.change == "copy")
    return fmt::format("mesh: the copy of {} is {}", event.model, event.status.empty() ? "given up" : event.status);
  if (event.change == "admitted") return fmt::format("mesh: {} joined", event.node);
  if (event.change == "removed") return fmt::format("mesh: {} is no longer a member", event.node);
  if (event.change == "away") return with_cause(fmt::format("mesh: {} is unreachable", event.node));
  return with_cause(fmt::format("mesh: {} is {}", event.node, event.change));
}

// The event as a line for people; empty if another event has the same information.
std::string in_words(const ServerEvent& event) {
  if (event.name == "snapshot") return snapshot_text(event.health);
  if (event.name == "server") return event.status == "loading" ? "" : server_text(event);
  if (event.name == "load") return load_text(event);
  if (event.name == "queue") return queue_text(event.health);
  if (event.name == "pin") return fmt::format("{}: {}", event.model, event.pinned ? "pinned" : "unpinned");
  if (event.name == "settings") return limits_text(event.health);
  if (event.name == "mesh") return mesh_text(event);
  if (event.name == "shutdown") return "the server shuts down";
  return event.name;
}

Result<int> events(CommandContext& context) {
  std::ostream& out = context.terminal.out;
  const auto print = [&](std::string_view name, std::string_view data) {
    if (context.json) {
      out << event_line(name, data) << std::endl;
      return;
    }
    const auto event = parse_house_event(name, data);
    const auto text = event ? in_words(*event) : std::string(name);
    if (!text.empty()) out << printable(fmt::format("{}  {}", clock_text(event ? event->time : 0), text)) << std::endl;
  };
  const auto reply = context.api.stream(ApiRequest::get("/api/v1/events"), print);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 400) return std::unexpected(refusal(context.api, *reply));
  return kExitOk;
}

}  // namespace

Action declare_events(CLI::App&) {
  return [](CommandContext& context) { return events(context); };
}

}  // namespace corral::cli
