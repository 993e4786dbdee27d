// Routes under the core prefixes.
#pragma once

#include <string_view>
#include <vector>

#include "http/route_table.h"

namespace corral::api {

// Adds a route under each of the core prefixes: /api/v1, /api/v0, /v1, /v0.
void add_core(std::vector<http::Route>& routes, const char* method, std::string_view path,
              const http::RouteHandler& handler);

}  // namespace corral::api
