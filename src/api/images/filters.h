// Filters of requests for images.
#pragma once

#include "api/base/inference_call.h"
#include "api/images/context.h"

namespace corral::api {

// Without any model for images, the error says how to get one.
Filter image_model_filter(ImagesContext& context);
// Makes the images of a request by as many calls of the backend as it takes, and sends them as the client wants them:
// base64 or URLs, whole or as events.
Filter image_filter(ImagesContext& context);

}  // namespace corral::api
