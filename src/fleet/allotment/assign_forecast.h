// What becomes of an order to hold a model, for the user who gave it. Pure.
#pragma once

#include <string>

#include "mesh/allocation/allocation.h"

namespace corral::fleet {

// Why the node would not serve the model at once, and what to do about it: one sentence for people. Empty: it serves
// the model, or loads it now. A node or a model that isn't in the situation is taken for able to.
std::string why_assigned_waits(mesh::AllocationInput situation, const mesh::AllocationRules& rules,
                               const mesh::NodeId& node, const mesh::ContentKey& model);

}  // namespace corral::fleet
