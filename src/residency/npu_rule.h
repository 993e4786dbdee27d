// Which models may use the NPU together. The rule is symmetric, so the order of loads doesn't matter. It depends on the
// device that a backend really uses, never on the recipe alone. Pure functions.
//
//   exclusive   has the whole NPU (ryzenai-llm, oga-npu, oga-hybrid, whispercpp on the NPU)
//   coexist     shares it with models of the same recipe and another type: one llm, one transcription, one embedding
//   (flm)
#pragma once

#include "residency/types.h"

namespace corral::residency {

inline bool uses_npu(const ModelSpec& spec) { return has(spec.device, Device::npu); }

// True if both can be in memory at the same time, by the NPU rule.
bool may_share_npu(const ModelSpec& a, const ModelSpec& b);

}  // namespace corral::residency
