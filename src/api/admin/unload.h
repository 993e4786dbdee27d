// Unloads models on this node, and reports that to the mesh.
#pragma once

#include <string>

#include "api/admin/context.h"

namespace corral::api {

// The name of the unloaded model; `name` may be any of its names. Errors: those of MemberRuntime::may_unload() and
// ModelRouter::unload().
async::Task<Result<ModelName>> unload_named(AdminContext& context, std::string name);
// Errors: those of ModelRouter::unload_all().
async::Task<Result<router::UnloadReport>> unload_all(CoreContext& core);

}  // namespace corral::api
