// Models that run elsewhere: an external server that corral only sends requests to. They compute on no device of this
// machine, so they take no slot, no memory and no part of an NPU. They are never evicted, only unloaded.
#pragma once

#include "residency/types.h"

namespace corral::residency {

constexpr bool runs_elsewhere(Device effective) { return effective == Device::none; }
inline bool runs_elsewhere(const ModelSpec& spec) { return runs_elsewhere(spec.device); }

}  // namespace corral::residency
