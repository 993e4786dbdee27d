// How long a request lets its model stay in memory (dialects::Canonical::keep).
#pragma once

#include <optional>

#include "api/context.h"
#include "http/handler.h"

namespace corral::api {

// The effective value; nothing for callers that may not decide: keys without admin rights, and models of other nodes.
std::optional<Millis> keep_of(const dialects::Canonical& asked, const http::Caller& caller,
                              const models::ModelInfo& model);

// A request that only loads or unloads the model. Returns a canonical answer, whose finish_reason is "load" or
// "unload". Errors: those of a load; insufficient_scope for callers that may not unload.
async::Task<http::Response> keep_alone(ApiContext& context, http::Request& request, const dialects::Canonical& asked,
                                       backends::ModelPtr model);

}  // namespace corral::api
