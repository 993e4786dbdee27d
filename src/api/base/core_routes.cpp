#include "api/base/core_routes.h"

#include <string>

#include "dialects/paths.h"

namespace corral::api {

void add_core(std::vector<http::Route>& routes, const char* method, std::string_view path,
              const http::RouteHandler& handler) {
  for (const auto prefix : dialects::kCorePrefixes) {
    routes.push_back({method, std::string(prefix).append(path), handler});
  }
}

}  // namespace corral::api
