// Converts errors to HTTP: inner code returns an Error, the caller gets a response.
#pragma once

#include "api/context.h"

namespace corral::api {

// The model's answer to this request, or its error as a response.
async::Task<http::Response> answer_of_model(ApiContext& context, router::ForwardRequest request);

}  // namespace corral::api
