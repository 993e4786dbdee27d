// What runs and waits on the server: `requests` lists it, `cancel` ends it.
#include "cli/commands/requests.h"

#include <algorithm>
#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/url_text.h"
#include "cli/terminal/format.h"
#include "cli/terminal/table.h"

namespace corral::cli {
namespace {

constexpr const char* kRequestsPath = "/api/v1/requests";

std::string state_text(const ActiveRequest& request) {
  if (!request.is_load) return or_unknown(request.status);
  return request.status == "running" ? "loading" : "load queued";
}

Result<int> list_requests(CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::get(kRequestsPath));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto requests = parse_requests(*text);
  if (!requests) return std::unexpected(requests.error());
  if (requests->empty()) context.terminal.err << "No request runs or waits\n";
  print_requests(context.terminal, *requests);
  return kExitOk;
}

// The beginning of an identifier, if only one request has it. Nothing: none or several have it.
std::optional<std::string> full_id(const CommandContext& context, const std::string& begun) {
  const auto text = fetch(context.api, ApiRequest::get(kRequestsPath));
  const auto requests = text ? parse_requests(*text) : std::unexpected(text.error());
  std::optional<std::string> found;
  if (!requests) return found;
  for (const ActiveRequest& request : *requests) {
    if (!request.id.starts_with(begun)) continue;
    if (found && *found != request.id) return std::nullopt;
    found = request.id;
  }
  return found;
}

Result<ApiReply> cancel_by_id(const CommandContext& context, const std::string& id) {
  return context.api.call(ApiRequest::post(fmt::format("{}/{}/cancel", kRequestsPath, escaped(id)), ""));
}

// All are tried; the exit code shows whether one failed.
Result<int> cancel_requests(const std::vector<std::string>& ids, CommandContext& context) {
  int code = kExitOk;
  for (const std::string& id : ids) {
    std::string name = id;
    auto reply = cancel_by_id(context, id);
    if (reply && reply->status == 404) {
      if (const auto full = full_id(context, id); full && *full != id) {
        name = *full;
        reply = cancel_by_id(context, name);
      }
    }
    if (!reply) return std::unexpected(reply.error());
    if (reply->status >= 400) code = kExitFailed;
    if (context.json) {
      const auto printed = print_json(context, reply->body);
      if (!printed) return printed;
    } else if (reply->status >= 400) {
      context.terminal.err << "corral: " << printable(refusal(context.api, *reply).message) << '\n';
    } else {
      context.terminal.out << printable(name + " is cancelled") << '\n';
    }
  }
  return code;
}

}  // namespace

void print_requests(const Terminal& terminal, std::span<const ActiveRequest> requests) {
  if (requests.empty()) return;
  const bool in_mesh = std::ranges::any_of(requests, [](const auto& one) { return !one.node.empty(); });
  // The model's name is the column that may be shortened: an identifier is for `cancel`.
  std::vector<Column> columns(
      {{"MODEL"}, {"ID"}, {"STATE"}, {"AGE", Align::right}, {"TOKENS", Align::right}, {"CLIENT"}, {"KEY"}});
  if (in_mesh) columns.push_back({"NODE"});
  Table table(std::move(columns));
  for (const ActiveRequest& request : requests) {
    std::vector<std::string> row({request.model, or_unknown(request.id), state_text(request),
                                  human_duration(Millis(request.age_ms)), or_unknown(request.output_tokens),
                                  client_text(request.client), or_unknown(request.key)});
    if (in_mesh) row.push_back(request.node.empty() ? "here" : request.node);
    table.add(std::move(row));
  }
  table.print(terminal);
}

Action declare_requests(CLI::App&) {
  return [](CommandContext& context) { return list_requests(context); };
}

Action declare_cancel(CLI::App& app) {
  const auto ids = std::make_shared<std::vector<std::string>>();
  app.add_option("ID", *ids, "Identifiers of requests (corral requests), or their beginning")
      ->required()
      ->type_name("");
  return [ids](CommandContext& context) { return cancel_requests(*ids, context); };
}

}  // namespace corral::cli
