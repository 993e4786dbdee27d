// What a request says of how long its model stays in memory (dialects::Canonical::keep).
#pragma once

#include <optional>

#include "api/context.h"
#include "http/handler.h"

namespace corral::api {

// What counts of it: nothing where others decide, who are admins or another node.
std::optional<Millis> keep_of(const dialects::Canonical& asked, const http::Caller& caller,
                              const models::ModelInfo& model);

// A request that asks nothing of the model but that it is loaded, or unloaded. As a canonical answer, whose
// finish_reason is "load" or "unload". Errors: those of a load; insufficient_scope for who may not unload.
async::Task<http::Response> keep_alone(ApiContext& context, http::Request& request, const dialects::Canonical& asked,
                                       backends::ModelPtr model);

}  // namespace corral::api
