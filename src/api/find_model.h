// The model that a name means, on this machine's disk or in its mesh.
#pragma once

#include "api/context.h"

namespace corral::api {

// What requests of that name go to: a model of this disk, else one that other nodes have (fleet::as_remote_model).
// Errors: those of ModelFinder::find() and fleet::RemoteModels::find().
async::Task<Result<backends::ModelPtr>> find_model(ApiContext& context, std::string name);

// One of this disk, for what no other node can be asked. Errors: the same; of what only others have,
// models::errc::model_not_found, which says who.
async::Task<Result<backends::ModelPtr>> find_own_model(ApiContext& context, std::string name);

}  // namespace corral::api
