#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/doctor/checks.h"
#include "cli/doctor/doctor_wire.h"
#include "cli/errors.h"
#include "config/errors.h"
#include "config/sources.h"
#include "json/value.h"

namespace corral::cli {
namespace {

// For a server that answers slowly. The hub is asked by the server, which has limits of its own.
constexpr Millis kAnswerLimit{10'000}, kCheckLimit{60'000};

constexpr const char* kServiceState = "/var/lib/corral";

// The environment of the packages' unit: variables of this user don't reach the service.
std::optional<std::string> service_variable(std::string_view name) {
  static constexpr std::pair<std::string_view, const char*> kVariables[] = {{"HOME", kServiceState},
                                                                            {"CORRAL_STATE_DIR", kServiceState},
                                                                            {"CORRAL_RUNTIME_DIR", "/run/corral"},
                                                                            {"HF_HUB_CACHE", "/var/cache/corral/hub"}};
  for (const auto& [known, value] : kVariables)
    if (name == known) return value;
  return std::nullopt;
}

ApiRequest get(std::string path, Millis limit) {
  auto request = ApiRequest::get(std::move(path));
  request.limit = limit;
  return request;
}

// The configuration to examine: the user's, or that of the system's service if it is named or the user has none.
struct Examined {
  config::Inputs inputs;
  std::string file;
  bool is_service = false;
};

Examined find_examined(const CommandContext& context) {
  Examined examined{context.inputs, {}};
  const auto paths = config::Paths::from(context.inputs.environment);
  const auto own = config::config_file(context.inputs, paths);
  std::error_code ignored;
  const auto& service = context.inputs.service_file;
  const bool has_own = own.missing == config::MissingFile::is_an_error || std::filesystem::exists(own.path, ignored);
  const bool has_service = !service.empty() && std::filesystem::exists(service, ignored);
  examined.is_service = has_service && (own.path == service || !has_own);
  if (examined.is_service) {
    examined.inputs.config_file = service;
    examined.inputs.environment = service_variable;
    examined.inputs.flags.clear();
  }
  examined.file = examined.is_service ? service.native() : own.path.native();
  return examined;
}

// This user can't see what another one sees: the file, or the keys that allow other machines to connect.
bool is_closed(const Error& error) {
  std::error_code failed;
  const std::filesystem::directory_iterator state(kServiceState, failed);
  return error.code == config::errc::unreadable_file ||
         (error.code == config::errc::unsafe_bind && failed == std::errc::permission_denied);
}

void examine_machine(const CommandContext& context, DoctorFacts& facts) {
  const auto examined = find_examined(context);
  facts.file = examined.file;
  const auto settings = config::load_serve_settings(examined.inputs);
  facts.is_file_closed = !settings && examined.is_service && is_closed(settings.error());
  if (!settings) facts.settings_problem = settings.error().message;
  if (context.hooks.examine)
    facts.machine = context.hooks.examine(settings ? &*settings : nullptr, examined.inputs.environment);
}

// The key lacks the right, or the server downloads nothing. A 403 may also be the hub's, for a wrong HF_TOKEN.
bool is_not_checked(const ApiReply& reply) {
  const auto body = json::parse(reply.body);
  const auto* const error = body ? json::find(*body, "error") : nullptr;
  if (reply.status == 403 && error != nullptr && json::text_or(*error, "code", "") == "hub_token_refused") return false;
  return reply.status == 401 || reply.status == 403 || reply.status == 404;
}

// Without admin rights the hub and the mesh are not checked.
Result<> examine_server(const CommandContext& context, DoctorFacts& facts) {
  const auto reply = context.api.call(get("/api/v1/health", kAnswerLimit));
  if (!reply && reply.error().code == errc::interrupted) return std::unexpected(reply.error());
  if (!reply) {
    facts.answer = reply.error().code == errc::no_server   ? ServerAnswer::none
                   : reply.error().code == errc::no_answer ? ServerAnswer::silent
                                                           : ServerAnswer::foreign;
    return {};
  }
  const auto health = parse_health(reply->body);
  const bool refused = reply->status == 401 || reply->status == 403;
  if (refused || (health && health->version.empty() && reply->status < 400)) {
    facts.answer = ServerAnswer::needs_key;
    return {};
  }
  constexpr unsigned kLoads = 503;  // a server with one model says so until that is loaded
  if (reply->status == kLoads) {
    facts.answer = ServerAnswer::loading;
    return {};
  }
  if (!health || reply->status >= 400) {
    facts.answer = ServerAnswer::foreign;
    return {};
  }
  facts.answer = ServerAnswer::full;
  facts.health = *health;
  const auto hub = context.api.call(get("/api/v1/registry/search?query=gguf&limit=1", kCheckLimit));
  if (!hub && hub.error().code == errc::interrupted) return std::unexpected(hub.error());
  if (!hub) {
    facts.hub = hub.error().message;
  } else if (!is_not_checked(*hub)) {
    facts.hub = hub->status < 400 ? std::string() : refusal(context.api, *hub).message;
  }
  if (!facts.health.in_mesh) return {};
  const auto mesh = context.api.call(get("/api/v1/mesh/doctor", kCheckLimit));
  if (!mesh && mesh.error().code == errc::interrupted) return std::unexpected(mesh.error());
  if (!mesh || mesh->status >= 400) return {};
  if (const auto findings = parse_mesh_findings(mesh->body)) facts.mesh = *findings;
  return {};
}

void print(const Terminal& terminal, const std::vector<Check>& checks) {
  for (const auto& check : checks) {
    const auto style = check.verdict == Verdict::ok        ? Style::green
                       : check.verdict == Verdict::failed  ? Style::red
                       : check.verdict == Verdict::skipped ? Style::dim
                                                           : Style::yellow;
    terminal.out << terminal.paint(style, fmt::format("{:<9}", name_of(check.verdict)))
                 << printable(fmt::format("{}: {}", check.topic, check.text)) << '\n';
    if (!check.todo.empty()) terminal.out << printable(fmt::format("{:9}to do: {}", "", check.todo)) << '\n';
  }
}

Result<int> doctor(CommandContext& context) {
  DoctorFacts facts{.version = context.hooks.version, .components = context.hooks.components};
  facts.url = context.api.url();
  if (auto done = examine_server(context, facts); !done) return std::unexpected(done.error());
  examine_machine(context, facts);
  const auto checks = check_all(facts);
  const int code = has_failed(checks) ? kExitFailed : kExitOk;
  if (!context.json) {
    print(context.terminal, checks);
    return code;
  }
  if (auto printed = print_json(context, checks_object(checks)); !printed) return printed;
  return code;
}

}  // namespace

Action declare_doctor(CLI::App&) {
  return [](CommandContext& context) { return doctor(context); };
}

}  // namespace corral::cli
