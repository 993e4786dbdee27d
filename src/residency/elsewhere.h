// Models that run elsewhere: an instance of somebody's, which corral only asks. They compute on no device of this
// machine, so they take nothing of it: no slot, no memory, no part of an NPU; and only who says so has them leave.
#pragma once

#include "residency/types.h"

namespace corral::residency {

constexpr bool runs_elsewhere(Device effective) { return effective == Device::none; }
inline bool runs_elsewhere(const ModelSpec& spec) { return runs_elsewhere(spec.device); }

}  // namespace corral::residency
