// Paths without a prefix: what llama-server has there, and that the server runs at all. Its inference endpoints are in
// dialects/llama_server.cpp.
#include <fmt/format.h>

#include "api/admin/children.h"
#include "api/loaded_model.h"
#include "api/routes.h"
#include "dialects/error_teller.h"
#include "json/value.h"
#include "residency/errc.h"
#include "router/errors.h"

namespace corral::api {
namespace {

constexpr Millis kPropsPatience{5'000};

// Programs that ask for JSON by name get it; people, and programs that take anything, get a line of text.
async::Task<http::Response> alive(const Context& context, http::Request request) {
  const auto accept = request.head.headers.get("Accept");
  if (accept.find("application/json") == std::string_view::npos || accept.find("text/html") != std::string_view::npos)
    co_return http::Response::text(200, "text/plain; charset=utf-8", "corral is running\n");
  const json::Object body{{"status", "ok"}, {"name", "corral"}, {"version", context.version}};
  co_return http::Response::json(200, json::serialize(body));
}

async::Task<Result<ModelName>> asked_model(Context& context, std::string name) {
  if (!name.empty()) {
    const auto known = context.models.find_known(name);
    co_return known ? (*known)->name : ModelName(std::move(name));
  }
  const auto loaded = co_await only_loaded_now(context, std::nullopt);
  if (!loaded) co_return std::unexpected(loaded.error());
  co_return (*loaded)->name;
}

// What the engine of a loaded model says of itself, as llama-server does.
async::Task<http::Response> props(Context& context, http::Request request) {
  const auto name = co_await asked_model(context, http::query_value(request.head.query(), "model").value_or(""));
  if (!name) co_return dialects::error_response(name.error());
  const auto answer = co_await ask_child(context, *name, "/props", kPropsPatience);
  if (!answer) {
    const Error error(make_error_code(residency::errc::not_loaded), fmt::format("'{}' is not loaded", name->value()),
                      "model");
    co_return dialects::error_response(error);
  }
  if (!answer->text) {
    const Error error(make_error_code(router::errc::backend_unreachable),
                      fmt::format("the engine of '{}' doesn't answer", name->value()));
    co_return dialects::error_response(error);
  }
  co_return http::Response::json(200, *answer->text);
}

}  // namespace

void add_root(std::vector<http::Route>& routes, Context& context) {
  routes.push_back(
      {"GET", "/", [&context](http::Request request, http::PathParams) { return alive(context, std::move(request)); }});
  routes.push_back({"GET", "/props", [&context](http::Request request, http::PathParams) {
                      return props(context, std::move(request));
                    }});
}

}  // namespace corral::api
