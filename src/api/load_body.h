// The body of a `load`, and of everything else that names load options: the fields of the table in
// config/load_options.h, checked and read.
#pragma once

#include "api/context.h"
#include "config/load_options.h"
#include "http/handler.h"
#include "json/peek.h"
#include "protocol/fields.h"
#include "router/options/option_patch.h"

namespace corral::api {

// Of POST load: model_name (or model, as elsewhere), the load options, pinned, save_options, stream.
const protocol::FieldTable& load_fields();

// The body of a request, if it fits the table. An empty one may pass for {}.
async::Task<Result<json::Peek>> checked_body(ApiContext& context, http::Request& request,
                                             const protocol::FieldTable& fields, bool may_be_empty = false);

// Refuses a member that `fields` don't have, and names the nearest one that they do: what nobody knows would be without
// effect, and may well have been misspelt. Error: protocol::errc::unsupported_value.
Result<> check_members(json::View body, const protocol::FieldTable& fields);

// What a checked body says of load options: values, and null for those where what is saved shall not count. Errors:
// config::errc::invalid_value, for llamacpp_args.
Result<router::OptionPatch> option_wish_of(json::View body);
// The same, and whether this caller may name the files that are in it. Errors: those of FileGate::check() too.
async::Task<Result<router::OptionPatch>> allowed_wish_of(ApiContext& context, const http::Caller& caller,
                                                         json::View body);

}  // namespace corral::api
