#include "api/routes.h"

#include "api/rights.h"
#include "dialects/error_teller.h"

namespace corral::api {

void add_core(std::vector<http::Route>& routes, const char* method, std::string_view path,
              const http::RouteHandler& handler) {
  for (const std::string_view prefix : {"/api/v1/", "/api/v0/", "/v1/", "/v0/"}) {
    routes.push_back({method, std::string(prefix).append(path), handler});
  }
}

std::unique_ptr<http::Handler> make_api(Context& context) {
  std::vector<http::Route> routes;
  add_inference(routes, context);
  add_models(routes, context);
  add_root(routes, context);
  add_health(routes, context);
  add_load(routes, context);
  add_events(routes, context);
  add_requests(routes, context);
  add_metrics(routes, context);
  add_options(routes, context);
  if (context.settings) add_config(routes, context);
  if (context.keys) add_keys(routes, context);
  if (context.node) add_mesh(routes, context);
  protect(routes);
  auto failure = [](const http::Request& request, unsigned status) {
    return status == 403 ? refuse_caller(request) : dialects::path_error(request, status);
  };
  return std::make_unique<http::RouteTable>(std::move(routes), failure);
}

}  // namespace corral::api
