// What is saved for a model, and what it would be loaded with: GET, POST and DELETE models/{id}/options.
#include <fmt/format.h>

#include "api/load_body.h"
#include "api/routes.h"
#include "config/default_options.h"
#include "json/value.h"
#include "protocol/errors.h"
#include "protocol/http_error.h"

namespace corral::api {
namespace {

// Fields of the body beside the options themselves. Clients of other servers send the name again.
constexpr std::string_view kOtherFields[] = {"llamacpp_args", "dry_run", "model_name"};

json::Object object_of(const config::LoadOptions& options) {
  json::Object object;
  for (const auto& option : config::load_options()) {
    if (!option.internal && config::is_set(option, options)) object[option.key] = config::to_json(option, options);
  }
  return object;
}

// Where each effective value comes from: saved for the model, a place of the server's settings, or the default.
json::Object sources_of(const router::OptionReport& report, const config::LiveSettings* live) {
  json::Object sources;
  const auto settings = live ? live->in_force() : nullptr;
  for (const auto& option : config::load_options()) {
    if (option.internal || !config::is_set(option, report.effective)) continue;
    std::string where = "default";
    if (config::is_set(option, report.saved)) {
      where = "saved";
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

http::Response answer(const Context& context, const models::ModelInfo& model, const router::OptionReport& report) {
  const json::Object body{{"model_name", model.name.value()},
                          {"recipe", model.recipe},
                          {"saved", object_of(report.saved)},
                          {"effective", object_of(report.effective)},
                          {"defaults", object_of(report.defaults)},
                          {"sources", sources_of(report, context.settings)},
                          {"context_length", report.window.usable},
                          {"max_context_length", report.window.trained},
                          {"warnings", warnings_of(report)},
                          {"pinned", report.pinned},
                          {"loaded", report.loaded},
                          {"needs_reload", report.needs_reload},
                          {"problem", report.problem.empty() ? json::Value() : json::Value(report.problem)}};
  return http::Response::json(200, json::serialize(body));
}

async::Task<http::Response> change(Context& context, std::string id, router::OptionChange wanted) {
  const auto model = co_await context.models.find(std::move(id));
  if (!model) co_return protocol::error_response(model.error());
  const auto report = co_await context.router.options(*model, std::move(wanted));
  if (!report) co_return protocol::error_response(report.error());
  co_return answer(context, **model, *report);
}

Error refusal(std::string_view name) {
  if (name == "pinned")
    return {make_error_code(protocol::errc::unsupported_value),
            "'pinned' is no option of a load: use /internal/pin, or 'pinned' of load", "pinned"};
  return no_option(name, config::closest_load_option(name));
}

// Every member is an option to set, or null for one to take back.
Result<router::OptionChange> read_change(json::View body) {
  router::OptionChange wanted;
  Result<> fine;
  body.each_member([&](std::string_view name, json::View) {
    if (std::ranges::find(kOtherFields, name) != std::end(kOtherFields)) return true;
    const auto* option = config::find_load_option(name);
    if (!option || option->internal) {
      fine = std::unexpected(refusal(name));
      return false;
    }
    return true;
  });
  if (!fine) return std::unexpected(fine.error());
  auto wish = option_wish_of(body);
  if (!wish) return std::unexpected(wish.error());
  wanted.wish = std::move(*wish);
  wanted.dry_run = body.find("dry_run").as_bool();
  return wanted;
}

const protocol::FieldTable& option_fields() {
  static const auto fields = [] {
    std::vector<protocol::Field> rows = {{.name = "dry_run", .kinds = protocol::kBoolean}};
    for (auto row : load_fields().fields()) {
      row.required = false;
      if (row.name != "stream") rows.push_back(row);
    }
    return rows;
  }();
  static const protocol::FieldTable table(fields);
  return table;
}

async::Task<http::Response> post(Context& context, http::Request request, std::string id) {
  const auto peek = co_await checked_body(context, request, option_fields());
  if (!peek) co_return protocol::error_response(peek.error());
  auto wanted = read_change(peek->root());
  if (!wanted) co_return protocol::error_response(wanted.error());
  co_return co_await change(context, std::move(id), std::move(*wanted));
}

}  // namespace

void add_options(std::vector<http::Route>& routes, Context& context) {
  constexpr std::string_view kPath = "models/{id...}/options";
  add_core(routes, "GET", kPath, [&context](http::Request, http::PathParams params) {
    return change(context, std::move(params["id"]), {.dry_run = true});
  });
  add_core(routes, "POST", kPath, [&context](http::Request request, http::PathParams params) {
    return post(context, std::move(request), std::move(params["id"]));
  });
  add_core(routes, "DELETE", kPath, [&context](http::Request, http::PathParams params) {
    return change(context, std::move(params["id"]), {.unset_all = true});
  });
}

}  // namespace corral::api
