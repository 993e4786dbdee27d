// How long a request lets its model stay in memory (dialects::Canonical::keep).
#pragma once

#include "api/admin/context.h"
#include "api/base/inference_call.h"

namespace corral::api {

// Applies it after a translated answer. An answer to a request that only loads or unloads is not renamed or counted.
Filter keep_filter(AdminContext& context);
// Answers a request that only loads or unloads the model.
Filter keep_only_filter(AdminContext& context);

}  // namespace corral::api
