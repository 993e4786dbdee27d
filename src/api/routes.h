// The API as one handler: every resource contributes its routes; what a caller must have the right to for each of them
// is a row in rights.cpp.
#pragma once

#include <memory>
#include <vector>

#include "api/context.h"
#include "http/route_table.h"

namespace corral::api {

// Adds a route under each of the core prefixes: /api/v1, /api/v0, /v1, /v0.
void add_core(std::vector<http::Route>& routes, const char* method, std::string_view path,
              const http::RouteHandler& handler);

// One function per resource, each in a file of its own. `context` must outlive the routes.
void add_inference(std::vector<http::Route>& routes, Context& context);  // inference.cpp
void add_models(std::vector<http::Route>& routes, Context& context);     // openai/models.cpp
void add_root(std::vector<http::Route>& routes, Context& context);       // openai/root.cpp
void add_health(std::vector<http::Route>& routes, Context& context);     // admin/health.cpp
void add_load(std::vector<http::Route>& routes, Context& context);       // admin/load.cpp
void add_events(std::vector<http::Route>& routes, Context& context);     // admin/events.cpp
void add_requests(std::vector<http::Route>& routes, Context& context);   // admin/requests.cpp
void add_metrics(std::vector<http::Route>& routes, Context& context);    // admin/metrics.cpp
void add_options(std::vector<http::Route>& routes, Context& context);    // admin/options.cpp
void add_config(std::vector<http::Route>& routes, Context& context);     // admin/config.cpp
void add_keys(std::vector<http::Route>& routes, Context& context);       // admin/keys.cpp
void add_mesh(std::vector<http::Route>& routes, Context& context);       // admin/mesh.cpp

std::unique_ptr<http::Handler> make_api(Context& context);

}  // namespace corral::api
