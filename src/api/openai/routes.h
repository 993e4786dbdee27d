// The routes of this room.
#pragma once

#include <vector>

#include "api/filters/context.h"
#include "api/llama/context.h"
#include "api/supply/context.h"
#include "http/route_table.h"

namespace corral::api {

// One function per resource, each in its own file. The contexts must outlive the routes.
void add_models(std::vector<http::Route>& routes, SupplyContext& context);  // models.cpp
void add_voices(std::vector<http::Route>& routes, FilterContext& context);  // voices.cpp
void add_root(std::vector<http::Route>& routes, LlamaContext& context);     // root.cpp

}  // namespace corral::api
