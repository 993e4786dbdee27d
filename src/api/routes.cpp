#include "api/routes.h"

#include "api/access/rights.h"
#include "api/activity/activity_board.h"
#include "api/console/console.h"
#include "api/openapi.h"
#include "dialects/error_filter.h"
#include "dialects/paths.h"

namespace corral::api {

void add_core(std::vector<http::Route>& routes, const char* method, std::string_view path,
              const http::RouteHandler& handler) {
  for (const auto prefix : dialects::kCorePrefixes) {
    routes.push_back({method, std::string(prefix).append(path), handler});
  }
}

namespace {

async::Task<http::Response> described(std::shared_ptr<const std::string> description) {
  co_return http::Response::json(200, *description);
}

}  // namespace

std::unique_ptr<http::Handler> make_api(ApiContext& context) {
  std::vector<http::Route> routes;
  const auto board = std::make_shared<ActivityBoard>();
  add_inference(routes, context, board);
  add_models(routes, context);
  add_voices(routes, context);
  add_ollama_models(routes, context);
  add_ollama_registry(routes, context);
  add_response_socket(routes, context);
  if (context.store) add_responses(routes, context);
  if (context.store) add_conversations(routes, context);
  add_root(routes, context);
  add_llama_models(routes, context);
  add_llama_swap(routes, context);
  add_llama_slots(routes, context);
  add_streams(routes, context);
  add_health(routes, context);
  add_memory(routes, context);
  if (context.stats) add_stats_history(routes, context);
  add_load(routes, context);
  add_events(routes, context);
  add_logs(routes, context);
  add_requests(routes, context, board);
  if (context.store) add_activity(routes, context);
  add_metrics(routes, context);
  add_options(routes, context);
  if (context.settings) add_config(routes, context);
  if (context.keys) add_keys(routes, context);
  if (context.verifier) add_verify(routes, context);
  if (context.supply) {
    add_pull(routes, context);
    add_downloads(routes, context);
    add_removal(routes, context);
    add_names(routes, context);
    add_import(routes, context);
  }
  if (context.node) add_mesh(routes, context);
  if (context.node) add_mesh_allotment(routes, context);
  // The description contains all routes, its own included.
  const auto description = std::make_shared<std::string>();
  routes.push_back(
      {"GET", "/openapi.json", [description](http::Request, http::PathParams) { return described(description); }});
  protect(routes);
  *description = openapi_description(routes, context.version);
  // The page is not a part of the API.
  add_console(routes, context);
  protect(routes);
  auto failure = [&context](const http::Request& request, unsigned status) {
    if (auto page = status == 403 ? console_for_stranger(context, request) : std::nullopt) return std::move(*page);
    return status == 403 ? refuse_caller(request) : dialects::path_error(request, status);
  };
  return std::make_unique<http::RouteTable>(std::move(routes), failure);
}

}  // namespace corral::api
