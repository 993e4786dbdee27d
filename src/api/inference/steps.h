// The steps of every inference request: read the body, find the model, forward, translate the answer. They are the same
// for all dialects and endpoints. Features are filters between them: the table in api/routes.cpp.
#pragma once

#include "api/base/inference_call.h"
#include "api/inference/context.h"

namespace corral::api {

// Reads the bytes of a body with JSON.
Filter read_body_step(InferenceContext& context);
// Checks them against the endpoint's table, unless a filter has done so.
Filter parse_body_step(InferenceContext& context);
// Reads and checks a form with files (dialects/form.h), to its end.
Filter read_form_step(InferenceContext& context);

// Looks the model up. Errors stay in the call, for a filter that knows more.
Filter find_model_step(InferenceContext& context);
// Refuses a request without a model. Completes the others.
Filter known_model_step(InferenceContext& context);

// Translates the answer to the dialect of the endpoint.
Filter translate_step(InferenceContext& context);
// Sends the request to its model. The last one.
Filter forward_step(InferenceContext& context);

}  // namespace corral::api
