// Finds the model of a name, on this machine's disk or in its mesh.
#pragma once

#include "api/files/context.h"

namespace corral::api {

// The model for requests with this name: one of this disk, else one of other nodes (fleet::as_remote_model). Waits up
// to 3 s for a node that has just become unreachable. Errors: those of DiskCatalog::find() and
// fleet::RemoteModels::find().
async::Task<Result<backends::ModelPtr>> find_model(FilesContext& context, std::string name);

// A model of this disk, for operations that only this node can do. Errors: the same; for models that only other nodes
// have, models::errc::model_not_found, which names the nodes.
async::Task<Result<backends::ModelPtr>> find_own_model(FilesContext& context, std::string name);

}  // namespace corral::api
