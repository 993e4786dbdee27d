// The body of a `load`, and of everything else that names load options: the fields of the table in
// config/load_options.h, checked and read.
#pragma once

#include "api/context.h"
#include "config/load_options.h"
#include "http/handler.h"
#include "json/peek.h"
#include "protocol/fields.h"
#include "router/option_wish.h"

namespace corral::api {

// Of POST load: model_name (or model, as elsewhere), the load options, llamacpp_args, pinned, save_options, stream.
const protocol::FieldTable& load_fields();

// The body of a request, if it fits the table. An empty one may pass for {}.
async::Task<Result<json::Peek>> checked_body(Context& context, http::Request& request,
                                             const protocol::FieldTable& fields, bool may_be_empty = false);

// `meant`: what was probably meant, or "".
Error no_option(std::string_view name, std::string_view meant);

// Members that nobody knows are other recipes' options, and pass; but not one that is nearly a name that is known.
// Error: protocol::errc::unsupported_value.
Result<> check_spelling(json::View body);

// What a checked body says of load options: values, and null for those where what is saved shall not count. Single
// options count more than what llamacpp_args says. Errors: config::errc::invalid_value, for llamacpp_args.
Result<router::OptionWish> option_wish_of(json::View body);

}  // namespace corral::api
