// How a model leaves memory by itself, between the options of a load and the words of the decision core. Pure
// functions.
#pragma once

#include "backends/load_options.h"
#include "residency/types.h"
#include "router/options/option_patch.h"

namespace corral::router {

// What isn't set is as the core has it by itself. Timeouts below 0: never; 0: at once.
residency::EvictionSettings eviction_of(const backends::LoadOptions& options);
// The same as options; -1 s for never.
backends::LoadOptions options_of(const residency::EvictionSettings& eviction);

// What a load has said, and that its model is to stay for so long unused (ModelRouter::keep). `now`: as it is without.
void keep_for(OptionPatch& said, Millis idle, const residency::EvictionSettings& now);

}  // namespace corral::router
