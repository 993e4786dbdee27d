// How a model leaves memory by itself, between the options of a load and the words of the decision core. Pure
// functions.
#pragma once

#include "backends/load_options.h"
#include "residency/types.h"

namespace corral::router {

// What isn't set is as the core has it by itself. Timeouts below 0: never; 0: at once.
residency::EvictionSettings eviction_of(const backends::LoadOptions& options);
// The same as options; -1 s for never.
backends::LoadOptions options_of(const residency::EvictionSettings& eviction);

}  // namespace corral::router
