// Converts eviction settings between load options and the core's types. Pure functions.
#pragma once

#include "backends/load_options.h"
#include "residency/types.h"
#include "router/options/option_patch.h"

namespace corral::router {

// Unset options get the core's defaults. Timeouts below 0: never; 0: at once.
residency::EvictionSettings eviction_of(const backends::LoadOptions& options);
// The same as options; -1 s for never.
backends::LoadOptions options_of(const residency::EvictionSettings& eviction);

// Adds the idle time of ModelRouter::keep to the options `patch` of a load. `now`: the settings without it.
void keep_for(OptionPatch& patch, Millis idle, const residency::EvictionSettings& now);

}  // namespace corral::router
