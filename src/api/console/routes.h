// The routes of this room.
#pragma once

#include <vector>

#include "api/base/context.h"
#include "http/route_table.h"

namespace corral::api {

// `about` must outlive the routes.
void add_console(std::vector<http::Route>& routes, const ServerInfo& about);  // console.cpp

}  // namespace corral::api
