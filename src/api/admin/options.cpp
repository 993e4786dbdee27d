// Saved and effective options of a model: GET, POST and DELETE models/{id}/options.
#include "api/access/rights.h"
#include "api/admin/load_body.h"
#include "api/admin/routes.h"
#include "api/base/command_body.h"
#include "api/base/core_routes.h"
#include "api/files/find_model.h"
#include "base/log.h"
#include "config/load/default_options.h"
#include "config/load/llama_args.h"
#include "dialects/error_filter.h"
#include "json/value.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

json::Object object_of(const config::LoadOptions& options) {
  json::Object object;
  for (const auto& option : config::load_options()) {
    if (!option.internal && config::is_set(option, options)) object[option.key] = config::to_json(option, options);
  }
  return object;
}

// The source of each effective value: the request (of a dry run), the saved options of the model, a source of the
// server's settings, or the default.
json::Object sources_of(const router::OptionReport& report, const config::LiveSettings* live) {
  json::Object sources;
  const auto settings = live ? live->in_force() : nullptr;
  const auto saved = config::with_args(report.saved), wanted = config::with_args(report.wanted);
  for (const auto& option : config::load_options()) {
    if (option.internal || !config::is_set(option, report.effective)) continue;
    std::string where = "default";
    if (config::is_set(option, wanted)) {
      where = config::to_json(option, wanted) == config::to_json(option, saved) ? "saved" : "request";
    } else if (settings) {
      where = config::default_origin(option, *settings);
    }
    sources[option.key] = where;
  }
  return sources;
}

json::Array warnings_of(const router::OptionReport& report) {
  json::Array warnings;
  if (const auto warning = router::warning_of(report.window); !warning.empty()) warnings.emplace_back(warning);
  return warnings;
}

// A body for load.
json::Object load_body_of(const models::ModelInfo& model, const config::LoadOptions& options) {
  auto body = object_of(options);
  body["model_name"] = model.name.value();
  return body;
}

http::Response answer(const AdminContext& context, const models::ModelInfo& model, const router::OptionReport& report) {
  const json::Object body{{"model_name", model.name.value()},
                          {"recipe", model.recipe},
                          {"saved", object_of(report.saved)},
                          {"effective", load_body_of(model, report.effective)},
                          {"defaults", object_of(report.defaults)},
                          {"sources", sources_of(report, context.core.settings)},
                          {"context_length", report.window.usable},
                          {"max_context_length", report.window.trained},
                          {"warnings", warnings_of(report)},
                          {"resolved_ctx_size", report.window.usable},
                          {"pinned", report.pinned},
                          {"loaded", report.loaded},
                          {"needs_reload", report.needs_reload},
                          {"problem", report.problem.empty() ? json::Value() : json::Value(report.problem)}};
  return http::Response::json(200, json::serialize(body));
}

// `caller`: of a change, for the log.
async::Task<http::Response> change(AdminContext& context, std::string id, router::OptionChange wanted,
                                   std::string caller = {}) {
  const auto model = co_await find_own_model(context.files, std::move(id));
  if (!model) co_return dialects::error_response(model.error());
  const bool saves = !wanted.dry_run && !wanted.skip_preflight;
  const auto report = co_await context.core.router.options(*model, std::move(wanted));
  if (!report) co_return dialects::error_response(report.error());
  if (saves) log::info("api", "options of {} changed over HTTP by {}", (*model)->name.value(), caller);
  co_return answer(context, **model, *report);
}

// Clients of other servers send the name again.
const protocol::FieldTable& option_fields() {
  static const auto fields = [] {
    std::vector<protocol::Field> rows = {{.name = "dry_run", .kinds = protocol::kBoolean},
                                         {.name = "model_name", .kinds = protocol::kString}};
    for (const auto& row : load_fields().fields()) {
      if (config::find_load_option(row.name) != nullptr) rows.push_back(row);
    }
    return rows;
  }();
  static const protocol::FieldTable table(fields);
  return table;
}

// Every member is an option to set, or null to unset it.
Result<router::OptionChange> read_change(json::View body) {
  if (body.find("pinned").found())
    return fail(protocol::errc::unsupported_value,
                "'pinned' is not a load option: use /internal/pin, or 'pinned' of load", "pinned");
  if (auto fine = check_members(body, option_fields()); !fine) return std::unexpected(fine.error());
  auto wanted = option_patch_of(body);
  if (!wanted) return std::unexpected(wanted.error());
  const auto dry_run = body.find("dry_run");
  return router::OptionChange{.patch = std::move(*wanted), .dry_run = dry_run.found() && dry_run.as_bool()};
}

async::Task<http::Response> post(AdminContext& context, http::Request request, std::string id) {
  const auto peek = co_await checked_body(context.bodies, request, option_fields());
  if (!peek) co_return dialects::error_response(peek.error());
  auto wanted = read_change(peek->root());
  if (!wanted) co_return dialects::error_response(wanted.error());
  if (context.access.gate) {
    const auto allowed = co_await context.access.gate->check(request.caller, wanted->patch.set);
    if (!allowed) co_return dialects::error_response(allowed.error());
  }
  co_return co_await change(context, std::move(id), std::move(*wanted), caller_text(request.caller));
}

}  // namespace

void add_options(std::vector<http::Route>& routes, AdminContext& context) {
  constexpr std::string_view kPath = "models/{id...}/options";
  add_core(routes, "GET", kPath, [&context](http::Request, http::PathParams params) {
    return change(context, std::move(params["id"]), {.dry_run = true, .skip_preflight = true});
  });
  add_core(routes, "POST", kPath, [&context](http::Request request, http::PathParams params) {
    return post(context, std::move(request), std::move(params["id"]));
  });
  add_core(routes, "DELETE", kPath, [&context](http::Request request, http::PathParams params) {
    return change(context, std::move(params["id"]), {.unset_all = true}, caller_text(request.caller));
  });
}

}  // namespace corral::api
