#include "cli/commands/ps.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/reply_parser.h"
#include "cli/terminal/format.h"
#include "cli/terminal/table.h"
#include "cli/terminal/table_flags.h"

namespace corral::cli {
namespace {

// Cursor to the upper left corner, everything below it cleared.
constexpr std::string_view kClearScreen = "\x1b[H\x1b[J";

// Inserted after MEMORY, if a model is on a GPU.
constexpr std::ptrdiff_t kGpuColumn = 5;

// Since the end of the last request.
std::string idle_text(const LoadedModel& model, std::int64_t now) {
  if (model.last_use <= 0 || model.active_requests > 0) return std::string(kUnknown);
  return human_duration(Millis(now - model.last_use));
}

std::string status_text(const LoadedModel& model, const Health& health) {
  for (const LoadingModel& loading : health.loading) {
    if (loading.name == model.name) return "loading " + percent(loading.progress);
  }
  const auto changed = model.file_changed ? " (file changed)" : "";
  if (!model.leaving.empty()) return fmt::format("{} ({})", model.status, model.leaving);
  return or_unknown(model.status) + (model.lent ? " (lent)" : "") + changed;
}

std::string queued_text(const QueuedLoad& load) {
  auto text = fmt::format("queued {}, {}", load.position, human_duration(Millis(load.waiting_ms)));
  if (!load.waiting_for.empty()) text += fmt::format(" for {}", fmt::join(load.waiting_for, ", "));
  return text;
}

Result<int> ps(CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::get("/api/v1/health"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto health = parse_health(*text);
  if (!health) return std::unexpected(health.error());
  print_health(context.terminal, context.clock, *health);
  return kExitOk;
}

// Prints the list again after changes and once a second, until Ctrl-C or the end of the server.
Result<int> watch(CommandContext& context) {
  const auto show = [&](std::string_view name, std::string_view data) {
    if (name != "snapshot") return;
    const auto health = parse_health(data);
    if (context.json) {
      context.terminal.out << data << std::endl;
    } else if (health) {
      if (context.terminal.out_tty) context.terminal.out << kClearScreen;
      print_health(context.terminal, context.clock, *health);
      context.terminal.out << (context.terminal.out_tty ? "" : "\n") << std::flush;
    }
  };
  const auto reply = context.api.stream(ApiRequest::get("/api/v1/events?view=snapshots"), show);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 400) return std::unexpected(refusal(context.api, *reply));
  return kExitOk;
}

}  // namespace

void print_health(const Terminal& terminal, const Clock& clock, const Health& health) {
  const bool idle = health.loaded.empty() && health.loading.empty() && health.queue.empty();
  if (idle && health.shares.empty() && health.elsewhere.empty()) {
    terminal.err << "No model is in memory. The first request for one loads it, or: corral load MODEL\n";
    return;
  }
  std::vector<Column> columns = {{"NAME"},
                                 {"TYPE", Align::left, 9},
                                 {"STATUS"},
                                 {"DEVICE", Align::left, 8},
                                 {"MEMORY", Align::right, 1},
                                 {"CONTEXT", Align::right, 7},
                                 {"REQUESTS", Align::right, 4},
                                 {"IDLE", Align::right, 5},
                                 {"PINNED", Align::left, 6}};
  if (!health.elsewhere.empty()) columns.push_back({"NODE", Align::left, 3});
  const bool on_gpus =
      std::ranges::any_of(health.loaded, [](const LoadedModel& model) { return model.gpu_memory > 0; });
  if (on_gpus) columns.insert(columns.begin() + kGpuColumn, {"GPU", Align::right, 2});
  Table table(std::move(columns));
  const auto add = [&](std::vector<std::string> cells, std::uint64_t gpu_memory = 0) {
    const auto text = gpu_memory > 0 ? human_bytes(gpu_memory) : std::string();
    if (on_gpus && std::ssize(cells) >= kGpuColumn) cells.insert(cells.begin() + kGpuColumn, text);
    table.add(std::move(cells));
  };
  const std::int64_t now = epoch_millis(clock.wall_now());
  for (const LoadedModel& model : health.loaded) {
    add({model.name, or_unknown(model.type), status_text(model, health), or_unknown(model.device),
         size_or_unknown(model.memory), context_or_unknown(model.context, model.max_context),
         std::to_string(model.active_requests), idle_text(model, now), model.pinned ? "yes" : ""},
        model.gpu_memory);
  }
  for (const LoadingModel& model : health.loading) {
    if (health.find(model.name)) continue;  // listed above, with more details
    add({model.name, model.type, "loading " + percent(model.progress)});
  }
  for (const QueuedLoad& load : health.queue) {
    add({load.name, load.type, queued_text(load), "", "", "", std::to_string(load.waiters)});
  }
  for (const LentShare& share : health.shares) {
    auto status = fmt::format("for {}", share.host);
    if (!share.leaving.empty()) status += fmt::format(" ({})", share.leaving);
    add({share.model, "share", status, or_unknown(share.device), size_or_unknown(share.memory)});
  }
  // This node's own rows have none.
  for (const RemoteServedModel& model : health.elsewhere) {
    add({model.model, "", model.state, "", size_or_unknown(model.memory), "", std::to_string(model.running), "", "",
         model.node});
  }
  table.print(terminal);
}

Action declare_ps(CLI::App& app) {
  const auto watches = std::make_shared<bool>(false);
  app.add_flag("--watch", *watches, "Print again after changes, and once a second");
  add_table_flags(app);
  return [watches](CommandContext& context) { return *watches ? watch(context) : ps(context); };
}

}  // namespace corral::cli
