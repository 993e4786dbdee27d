#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/activity_wire.h"
#include "cli/server/url_text.h"
#include "cli/terminal/format.h"
#include "cli/terminal/table.h"
#include "cli/terminal/table_flags.h"
#include "config/options/value.h"

namespace corral::cli {
namespace {

constexpr int kMaxRows = 1'000;  // the server's limit

struct Wanted {
  std::string model, key, status, code, since;
  std::optional<std::int64_t> before;
  std::optional<int> limit;
};

Result<std::string> path_of(const Wanted& wanted, const CommandContext& context) {
  std::string path = "/api/v1/activity";
  char sign = '?';
  const auto add = [&](std::string_view name, std::string_view value) {
    path += fmt::format("{}{}={}", sign, name, escaped(value));
    sign = '&';
  };
  if (!wanted.model.empty()) add("model", wanted.model);
  if (!wanted.key.empty()) add("key", wanted.key);
  if (!wanted.status.empty()) add("status", wanted.status);
  if (!wanted.code.empty()) add("code", wanted.code);
  if (!wanted.since.empty()) {
    const auto age = config::parse_duration(wanted.since);
    if (!age || age->count() < 0)
      return fail(errc::usage, fmt::format("--since: '{}' is not a time such as 10m or 24h", wanted.since));
    const auto now = epoch_millis(context.clock.wall_now());
    add("since", std::to_string(now - std::min(now, age->count())));
  }
  if (wanted.before) add("before", std::to_string(*wanted.before));
  if (wanted.limit) add("limit", std::to_string(*wanted.limit));
  return path;
}

std::string time_text(std::int64_t epoch_millis) {
  const std::time_t seconds = epoch_millis / 1'000;
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return fmt::format("{:%m-%d %H:%M:%S}", parts);
}

std::string duration_or_unknown(const std::optional<std::int64_t>& milliseconds) {
  return milliseconds ? human_duration(Millis(*milliseconds)) : std::string(kUnknown);
}

std::string status_text(const PastRequest& request) {
  if (request.code.empty() || request.code == "ok") return std::to_string(request.status);
  return fmt::format("{} {}", request.status, request.code);
}

Result<int> activity(const Wanted& wanted, CommandContext& context) {
  const auto path = path_of(wanted, context);
  if (!path) return std::unexpected(path.error());
  const auto text = fetch(context.api, ApiRequest::get(*path));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto activity = parse_activity(*text);
  if (!activity) return std::unexpected(activity.error());
  if (activity->requests.empty()) {
    context.terminal.err << "No such request is recorded\n";
  } else {
    const bool in_mesh = std::ranges::any_of(activity->requests, [](const auto& one) { return !one.node.empty(); });
    std::vector<Column> columns({{"MODEL"},
                                 {"TIME"},
                                 {"KEY", Align::left, 5},
                                 {"DIALECT", Align::left, 8},
                                 {"CLIENT", Align::left, 6},
                                 {"STATUS"},
                                 {"IN", Align::right, 4},
                                 {"OUT", Align::right, 3},
                                 {"FIRST", Align::right, 7},
                                 {"DURATION", Align::right, 1}});
    if (in_mesh) columns.push_back({"NODE", Align::left, 2});
    Table table(std::move(columns));
    for (const PastRequest& request : activity->requests) {
      std::vector<std::string> row({or_unknown(request.model), time_text(request.ended), or_unknown(request.key),
                                    or_unknown(request.dialect), client_text(request.client), status_text(request),
                                    or_unknown(request.prompt_tokens), or_unknown(request.output_tokens),
                                    duration_or_unknown(request.first_token_ms),
                                    duration_or_unknown(request.duration_ms)});
      if (in_mesh) row.push_back(request.node.empty() ? "here" : request.node);
      table.add(std::move(row));
    }
    table.print(context.terminal);
  }
  if (activity->next) context.terminal.err << fmt::format("Older ones: --before {}\n", *activity->next);
  if (activity->lost > 0)
    context.terminal.err << fmt::format("{} requests were not recorded: the disk was too slow\n", activity->lost);
  return kExitOk;
}

}  // namespace

Action declare_activity(CLI::App& app) {
  const auto wanted = std::make_shared<Wanted>();
  app.add_option("--model", wanted->model, "Only requests to this model")->type_name("MODEL");
  app.add_option("--key", wanted->key, "Only requests with this key, by its name or identifier")->type_name("KEY");
  app.add_option("--status", wanted->status, "Only answers with this status, such as 404 or 5xx")->type_name("STATUS");
  app.add_option("--code", wanted->code, "Only requests with this result: ok, cancelled, or an error code")
      ->type_name("CODE");
  app.add_option("--since", wanted->since, "Only requests of the last 10m, 24h, ...")->type_name("TIME");
  app.add_option("--limit", wanted->limit, "Maximum number of rows [100]")
      ->type_name("N")
      ->check(CLI::Range(1, kMaxRows));
  app.add_option("--before", wanted->before, "Only requests older than this number, which ends the previous list")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber);
  add_table_flags(app);
  return [wanted](CommandContext& context) { return activity(*wanted, context); };
}

}  // namespace corral::cli
