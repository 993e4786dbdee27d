// The routes of this room.
#pragma once

#include <vector>

#include "api/supply/context.h"
#include "http/route_table.h"

namespace corral::api {

// One function per resource, each in its own file. `context` must outlive the routes.
void add_ollama_models(std::vector<http::Route>& routes, SupplyContext& context);    // models.cpp
void add_ollama_registry(std::vector<http::Route>& routes, SupplyContext& context);  // registry.cpp

}  // namespace corral::api
