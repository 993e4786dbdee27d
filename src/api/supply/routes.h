// The routes of this room.
#pragma once

#include <vector>

#include "api/supply/context.h"
#include "http/route_table.h"
#include "protocol/fields.h"

namespace corral::api {

// One function per resource, each in its own file. `context` must outlive the routes, and have a supply.
void add_pull(std::vector<http::Route>& routes, SupplyContext& context);       // pull.cpp
void add_downloads(std::vector<http::Route>& routes, SupplyContext& context);  // downloads.cpp
void add_removal(std::vector<http::Route>& routes, SupplyContext& context);    // removal.cpp
void add_names(std::vector<http::Route>& routes, SupplyContext& context);      // names.cpp
void add_import(std::vector<http::Route>& routes, SupplyContext& context);     // import.cpp

// Of POST pull, downloads/control, delete, models/register, /internal/aliases, import.
const protocol::FieldTable& pull_fields();
const protocol::FieldTable& download_control_fields();
const protocol::FieldTable& removal_fields();
const protocol::FieldTable& register_fields();
const protocol::FieldTable& alias_fields();
const protocol::FieldTable& import_fields();

}  // namespace corral::api
