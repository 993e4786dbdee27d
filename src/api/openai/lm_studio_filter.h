// Answers under LM Studio's paths (lm_studio.h).
#pragma once

#include "api/base/inference_call.h"

namespace corral::api {

// Adds statistics to whole answers, unless they are in another dialect.
Filter lm_studio_filter();

}  // namespace corral::api
