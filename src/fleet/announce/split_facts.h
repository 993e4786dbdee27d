// Facts about a model on this disk for a split: the sizes of its layers, and the other memory that a load is predicted
// to take. Pure.
#pragma once

#include "mesh/allocation/split_plan.h"
#include "models/model_info.h"
#include "router/options/model_context.h"

namespace corral::fleet {

// No layers: the model can't be split, or its file lacks the data.
mesh::SplitModel split_facts(const models::ModelInfo& model, const router::ModelContext& context);

}  // namespace corral::fleet
