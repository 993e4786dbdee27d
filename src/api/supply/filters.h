// Filters for requests whose model is downloaded first (auto_pull.h). Both belong together.
#pragma once

#include "api/base/inference_call.h"
#include "api/supply/context.h"

namespace corral::api {

// Replaces a missing model by a placeholder, if the request may download it.
Filter missing_model_filter(SupplyContext& context);
// Downloads the model of such a request.
Filter download_filter(SupplyContext& context);

}  // namespace corral::api
