// The settings of the running server: GET /internal/config, GET /internal/config/defaults, POST /internal/set.
#include <algorithm>

#include <fmt/format.h>

#include "api/access/rights.h"
#include "api/admin/routes.h"
#include "api/base/body_check.h"
#include "api/base/query.h"
#include "base/log.h"
#include "config/errors.h"
#include "config/files/keys.h"
#include "config/flat_values.h"
#include "dialects/error_filter.h"
#include "json/byte_order_mark.h"
#include "json/lone_surrogates.h"
#include "json/value.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

using config::LiveSettings;
using config::Option;

std::string_view name_of(config::Source source) {
  constexpr std::string_view kNames[] = {"default", "file", "set", "environment", "flag"};
  return kNames[static_cast<std::size_t>(source)];
}

http::Response answer(const json::Object& body) { return http::Response::json(200, json::serialize(body)); }

json::Object describe(const LiveSettings& settings, const Option& option, const config::ServeSettings& now,
                      const config::ServeSettings& wanted) {
  const auto& origin = now.origins.at(std::string(option.key));
  json::Object row{{"value", settings.shown(option, now)},
                   {"source", name_of(origin.source)},
                   {"where", origin.where},
                   {"default", option.fallback},
                   {"applies", config::name_of(option.applies)}};
  if (!config::same_value(option, now, wanted)) row["after_restart"] = settings.shown(option, wanted);
  return row;
}

// What the table of options says about it, for pages that show all settings.
void explain_setting(json::Object& row, const Option& option) {
  row["group"] = config::title(option.group);
  row["meaning"] = option.help;
  row["expects"] = config::expectation(option);
  if (!option.choices.empty()) row["choices"] = json::Array(option.choices.begin(), option.choices.end());
  if (!option.settable) row["settable"] = false;
  if (option.secret) row["secret"] = true;
  if (option.several_lines) row["several_lines"] = true;
}

async::Task<http::Response> show(LiveSettings& settings, http::Request request) {
  const auto describes = query_flag(request.head.query(), "describe");
  if (!describes) co_return dialects::error_response(describes.error());
  const auto now = settings.in_force();
  const auto wanted = settings.wanted();
  json::Object rows;
  for (const Option& option : config::options()) {
    auto row = describe(settings, option, *now, *wanted);
    if (*describes) explain_setting(row, option);
    rows[option.key] = std::move(row);
  }
  const auto problem = settings.problem();
  json::Object body{{"settings", std::move(rows)},
                    {"file", settings.file().native()},
                    {"set_values_file", settings.set_values_file().native()},
                    {"problem", problem.empty() ? json::Value() : json::Value(problem)}};
  co_return answer(body);
}

async::Task<http::Response> defaults() {
  json::Object rows;
  for (const Option& option : config::options()) rows[option.key] = option.fallback;
  co_return answer(rows);
}

// On an open server, settings of access and of folders need the right of an owner.
Result<> check_rights(const http::Caller& caller, const config::SetValues& values) {
  if (has(caller, kOwner)) return {};
  for (const auto& [key, value] : values) {
    const Option* const option = config::find_option(key);
    if (option == nullptr || !option->guarded) continue;
    return fail(config::errc::needs_admin_key,
                fmt::format("'{}' can be changed over HTTP only with a key that has the scope admin: edit the "
                            "configuration file, which is reread at once, or create a key with corral key create "
                            "--scope admin; {}",
                            key, config::kOthersAreRejected),
                key);
  }
  return {};
}

async::Task<http::Response> set(AdminContext& context, http::Request request) {
  auto body = co_await request.body.read_all(std::min<std::uint64_t>(context.bodies.max_bytes, kSmallBody));
  if (!body) co_return dialects::error_response(body.error());
  *body = json::without_byte_order_mark(std::move(*body));
  json::replace_lone_surrogates(*body);
  const auto parsed = json::parse(*body);
  if (!parsed) co_return dialects::error_response(parsed.error());
  const auto* object = parsed->if_object();
  if (!object || object->empty()) {
    const Error error(make_error_code(protocol::errc::wrong_type),
                      "the body must be an object of settings and their new values; null removes a set value");
    co_return dialects::error_response(error);
  }
  const auto values = config::flat_values(*object);
  if (!values) co_return dialects::error_response(values.error());
  if (const auto may = check_rights(request.caller, *values); !may) co_return dialects::error_response(may.error());
  if (const auto args = values->find("llamacpp_args"); args != values->end() && args->second.is_string()) {
    // The settings report errors in the flags themselves.
    config::LoadOptions named;
    named.llamacpp_args = std::string(args->second.get_string());
    if (context.access.gate) {
      const auto allowed = co_await context.access.gate->check(request.caller, named);
      if (!allowed) co_return dialects::error_response(allowed.error());
    }
  }
  LiveSettings& settings = *context.core.settings;
  const auto rows = settings.set(*values);
  if (!rows) co_return dialects::error_response(rows.error());
  const auto wanted = settings.wanted();
  json::Object updated, applies;
  for (const Option* option : *rows) {
    updated[option->key] = settings.shown(*option, *wanted);
    applies[option->key] = config::name_of(option->applies);
  }
  const auto caller = caller_text(request.caller);
  for (const Option* option : *rows) log::info("api", "setting {} changed over HTTP by {}", option->key, caller);
  const json::Object done{{"status", "success"}, {"updated", std::move(updated)}, {"applies", std::move(applies)}};
  co_return answer(done);
}

}  // namespace

void add_config(std::vector<http::Route>& routes, AdminContext& context) {
  routes.push_back({"GET", "/internal/config", [&context](http::Request request, http::PathParams) {
                      return show(*context.core.settings, std::move(request));
                    }});
  routes.push_back({"GET", "/internal/config/defaults", [](http::Request, http::PathParams) { return defaults(); }});
  routes.push_back({"POST", "/internal/set",
                    [&context](http::Request request, http::PathParams) { return set(context, std::move(request)); }});
}

}  // namespace corral::api
