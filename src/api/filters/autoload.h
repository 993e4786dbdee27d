// Requests that may not load their model.
#pragma once

#include "api/inference/context.h"

namespace corral::api {

// Whether a request may load its model: ?autoload=, else the setting. A server's one model always comes back.
bool may_load(const InferenceContext& context, const http::Request& request);

// For a request that may not load: the model must be in memory, or be loading. Errors: bad_value.
async::Task<Result<>> check_in_memory(InferenceContext& context, backends::ModelPtr model);

}  // namespace corral::api
