// The allocation at one moment and its input, for display. Immutable; safe on every thread.
#pragma once

#include <memory>

#include "mesh/allocation/allocation.h"

namespace corral::fleet {

struct Allotment {
  mesh::AllocationInput situation;
  mesh::Allocation allocation;
  mesh::AllocationRules rules;
};
using AllotmentPtr = std::shared_ptr<const Allotment>;

}  // namespace corral::fleet
