// A model of this node's disk as something whose layers several nodes can hold: by the sizes of its tensors, and by
// what a load of it is predicted to take besides. Pure.
#pragma once

#include "mesh/allocation/split_plan.h"
#include "models/model_info.h"
#include "router/options/model_context.h"

namespace corral::fleet {

// No layers: it can't be split, or its file doesn't say enough.
mesh::SplitModel split_facts(const models::ModelInfo& model, const router::ModelContext& context);

}  // namespace corral::fleet
