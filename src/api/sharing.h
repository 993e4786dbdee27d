// What a key and a request's head say of how requests share a server: how many at once, who may wait, and which of them
// belong together.
#pragma once

#include <string_view>

#include "api/context.h"
#include "http/handler.h"

namespace corral::api {

// Others go first: where the key says so (config::KeyTerms), or the request, by the standard header "Priority: u=7"
// (RFC 9218: the least urgent of eight). No request is more than its key.
bool in_background(const ApiContext& context, const http::Request& request);

// A place among its key's requests, to be held to the end of the answer; nullptr: nobody counts them. Errors:
// too_many_requests.
Result<std::shared_ptr<const void>> place_of(ApiContext& context, const http::Caller& caller);

// What agents send to say which requests are of one conversation: the first of x-session-affinity, x-session-id,
// session-id, session_id, x-conversation-id that has a value. Empty: none does.
std::string_view session_of(const http::Headers& headers);

}  // namespace corral::api
