// The routes of this room.
#pragma once

#include <memory>
#include <vector>

#include "api/activity/activity_board.h"
#include "api/admin/context.h"
#include "api/base/context.h"
#include "http/route_table.h"
#include "protocol/fields.h"

namespace corral::api {

// One function per resource, each in its own file. `context` must outlive the routes.
void add_health(std::vector<http::Route>& routes, AdminContext& context);         // health.cpp
void add_memory(std::vector<http::Route>& routes, CoreContext& context);          // memory.cpp
void add_stats_history(std::vector<http::Route>& routes, AdminContext& context);  // stats.cpp; needs a recorder
void add_load(std::vector<http::Route>& routes, AdminContext& context);           // load.cpp
void add_events(std::vector<http::Route>& routes, AdminContext& context);         // events.cpp
void add_logs(std::vector<http::Route>& routes, AdminContext& context);           // logs.cpp
void add_requests(std::vector<http::Route>& routes, CoreContext& context,
                  std::shared_ptr<ActivityBoard> board);                           // requests.cpp
void add_activity(std::vector<http::Route>& routes, AdminContext& context);        // activity.cpp; needs a store
void add_metrics(std::vector<http::Route>& routes, AdminContext& context);         // metrics.cpp
void add_options(std::vector<http::Route>& routes, AdminContext& context);         // options.cpp
void add_config(std::vector<http::Route>& routes, AdminContext& context);          // config.cpp; needs settings
void add_keys(std::vector<http::Route>& routes, AdminContext& context);            // keys.cpp; needs keys
void add_verify(std::vector<http::Route>& routes, AdminContext& context);          // verify.cpp; needs a verifier
void add_mesh(std::vector<http::Route>& routes, AdminContext& context);            // mesh.cpp; needs a node
void add_mesh_allotment(std::vector<http::Route>& routes, AdminContext& context);  // mesh_allotment.cpp; needs a node

// Of POST verify.
const protocol::FieldTable& verify_fields();

}  // namespace corral::api
