// The routes of this room.
#pragma once

#include <vector>

#include "api/responses/context.h"
#include "http/route_table.h"

namespace corral::api {

// The context must outlive the routes; the first two need a store.
void add_responses(std::vector<http::Route>& routes, ResponsesContext& context);        // resources.cpp
void add_conversations(std::vector<http::Route>& routes, ResponsesContext& context);    // conversations.cpp
void add_response_socket(std::vector<http::Route>& routes, ResponsesContext& context);  // socket.cpp

}  // namespace corral::api
