#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/format.h"
#include "cli/table.h"
#include "cli/wire.h"

namespace corral::cli {
namespace {

std::string last_used(const LoadedModel& model, std::int64_t now) {
  if (model.last_use <= 0) return std::string(kUnknown);
  return human_duration(Millis(now - model.last_use)) + " ago";
}

std::string status_text(const LoadedModel& model, const Health& health) {
  for (const LoadingModel& loading : health.loading) {
    if (loading.name == model.name) return "loading " + percent(loading.progress);
  }
  return or_unknown(model.status);
}

Result<int> ps(Context& context) {
  const auto text = fetch(context.api, ApiRequest::get("/api/v1/health"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto health = parse_health(*text);
  if (!health) return std::unexpected(health.error());
  if (health->loaded.empty() && health->loading.empty() && health->queue.empty()) {
    context.terminal.err << "No model is in memory. The first request for one loads it, or: corral load MODEL\n";
    return kExitOk;
  }
  Table table({{"NAME"},
               {"TYPE"},
               {"STATUS"},
               {"DEVICE"},
               {"MEMORY", Align::right},
               {"CONTEXT", Align::right},
               {"REQUESTS", Align::right},
               {"LAST USED"},
               {"PINNED"}});
  const std::int64_t now = epoch_millis(context.clock.wall_now());
  for (const LoadedModel& model : health->loaded) {
    table.add({model.name, or_unknown(model.type), status_text(model, *health), or_unknown(model.device),
               size_or_unknown(model.memory), or_unknown(model.context), std::to_string(model.active_requests),
               last_used(model, now), model.pinned ? "yes" : ""});
  }
  for (const LoadingModel& model : health->loading) {
    if (health->find(model.name)) continue;  // listed above, with more
    table.add({model.name, "", "loading " + percent(model.progress)});
  }
  for (const QueuedLoad& load : health->queue) {
    const std::string reason =
        load.waiting_for.empty() ? "" : fmt::format(" for {}", fmt::join(load.waiting_for, ", "));
    table.add({load.name, "", fmt::format("queued {}{}", human_duration(Millis(load.waiting_ms)), reason)});
  }
  table.print(context.terminal);
  return kExitOk;
}

}  // namespace

Action declare_ps(CLI::App&) {
  return [](Context& context) { return ps(context); };
}

}  // namespace corral::cli
