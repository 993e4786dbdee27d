// Checks and reads bodies of commands (load, set, ...): small JSON objects with the fields of a table.
#pragma once

#include "api/base/context.h"
#include "http/handler.h"
#include "json/peek.h"
#include "protocol/fields.h"

namespace corral::api {

// The body of a request, if it fits the table. `may_be_empty`: an empty body counts as {}.
async::Task<Result<json::Peek>> checked_body(const BodyContext& bodies, http::Request& request,
                                             const protocol::FieldTable& fields, bool may_be_empty = false);

// Rejects a member that `fields` don't have, and names the nearest valid one: an unknown member has no effect and is
// probably misspelt. Error: protocol::errc::unsupported_value.
Result<> check_members(json::View body, const protocol::FieldTable& fields);

}  // namespace corral::api
