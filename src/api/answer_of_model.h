// The edge between requests and HTTP: behind it an error is an Error, in front of it an answer.
#pragma once

#include "api/context.h"

namespace corral::api {

// What the model of this request answers, or why it doesn't.
async::Task<http::Response> answer_of_model(ApiContext& context, router::ForwardRequest request);

}  // namespace corral::api
