// Filters for requests whose endpoint may refer to stored responses (dialects::Endpoint::read_on).
#pragma once

#include "api/base/inference_call.h"
#include "api/responses/context.h"

namespace corral::api {

// Parses the body together with the stored data that it continues (keeping.h).
Filter continuing_filter(ResponsesContext& context);
// Answers a background request with its document; the model's answer is made without the client.
Filter background_filter(ResponsesContext& context);
// Stores the answer.
Filter keeping_filter();

}  // namespace corral::api
