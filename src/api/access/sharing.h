// How requests share a server, by their keys and headers: how many run in parallel, which have low priority, and which
// belong to one session.
#pragma once

#include <string_view>

#include "api/access/context.h"
#include "http/handler.h"

namespace corral::api {

// Low priority: set by the key (config::KeyTerms), or by the request's standard header "Priority: u=7" (RFC 9218: the
// least urgent of eight). A request can't have a higher priority than its key.
bool in_background(const AccessContext& context, const http::Request& request);

// A place among its key's running requests, to be held to the end of the answer; nullptr: not limited. Errors:
// too_many_requests.
Result<std::shared_ptr<const void>> place_of(AccessContext& context, const http::Caller& caller);

// The session that an agent names: the first of x-session-affinity, x-session-id, session-id, session_id,
// x-conversation-id that has a value. Empty: none.
std::string_view session_of(const http::Headers& headers);

}  // namespace corral::api
