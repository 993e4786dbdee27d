// Checks and reads bodies with load options (`load` and others): the fields of the table in config/load/load_options.h.
#pragma once

#include "api/context.h"
#include "config/load/load_options.h"
#include "http/handler.h"
#include "json/peek.h"
#include "protocol/fields.h"
#include "router/options/option_patch.h"

namespace corral::api {

// Of POST load: model_name (or model), the load options, pinned, save_options, stream.
const protocol::FieldTable& load_fields();

// The body of a request, if it fits the table. `may_be_empty`: an empty body counts as {}.
async::Task<Result<json::Peek>> checked_body(ApiContext& context, http::Request& request,
                                             const protocol::FieldTable& fields, bool may_be_empty = false);

// Rejects a member that `fields` don't have, and names the nearest valid one: an unknown member has no effect and is
// probably misspelt. Error: protocol::errc::unsupported_value.
Result<> check_members(json::View body, const protocol::FieldTable& fields);

// The load options of a checked body: values, and null for options whose saved value is ignored. Errors:
// config::errc::invalid_value, for llamacpp_args.
Result<router::OptionPatch> option_patch_of(json::View body);
// The same, and checks that the caller may name the files in it. Errors: those of FileGate::check() too.
async::Task<Result<router::OptionPatch>> allowed_patch_of(ApiContext& context, const http::Caller& caller,
                                                          json::View body);

}  // namespace corral::api
