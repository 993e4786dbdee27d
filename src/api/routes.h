// The API as one handler. Every resource contributes its routes; access/rights.cpp has a row with the rights of each
// route.
#pragma once

#include <memory>
#include <vector>

#include "api/activity/activity_board.h"
#include "api/context.h"
#include "api/inference/inference.h"
#include "http/handler.h"

namespace corral::api {

// All filters of inference requests, in their order. `context` must outlive them.
std::vector<InferenceFilter> inference_filters(ApiContext& context, std::shared_ptr<ActivityBoard> board);

// `context` must outlive the handler.
std::unique_ptr<http::Handler> make_api(ApiContext& context);

}  // namespace corral::api
