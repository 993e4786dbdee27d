// Reads bodies with load options (`load` and others): the fields of the table in config/load/load_options.h.
#pragma once

#include "api/access/context.h"
#include "config/load/load_options.h"
#include "http/handler.h"
#include "json/peek.h"
#include "protocol/fields.h"
#include "router/options/option_patch.h"

namespace corral::api {

// Of POST load: model_name (or model), the load options, pinned, save_options, stream.
const protocol::FieldTable& load_fields();

// The load options of a checked body: values, and null for options whose saved value is ignored. Errors:
// config::errc::invalid_value, for llamacpp_args.
Result<router::OptionPatch> option_patch_of(json::View body);
// The same, and checks that the caller may name the files in it. Errors: those of FileGate::check() too.
async::Task<Result<router::OptionPatch>> allowed_patch_of(const AccessContext& access, const http::Caller& caller,
                                                          json::View body);

}  // namespace corral::api
