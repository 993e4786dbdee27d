// Objects that the resources of the API use: the contexts of all rooms. Made by the composition root; outlives all
// handlers. A function takes the context of its room, or a smaller one.
#pragma once

#include "api/access/context.h"
#include "api/admin/context.h"
#include "api/base/context.h"
#include "api/files/context.h"
#include "api/filters/context.h"
#include "api/images/context.h"
#include "api/inference/context.h"
#include "api/llama/context.h"
#include "api/responses/context.h"
#include "api/supply/context.h"

namespace corral::api {

// Later members refer to earlier ones.
struct ApiContext {
  CoreContext core;
  BodyContext bodies;
  AccessContext access;
  FilesContext files;
  InferenceContext inference{core, bodies, files};
  FilterContext filters{inference};
  ImagesContext images{inference};
  ResponsesContext responses{core, bodies};
  SupplyContext supply{core, bodies, access, files};
  AdminContext admin{core, bodies, access, files, inference, supply};
  LlamaContext llama{core, admin, inference, filters};
};

}  // namespace corral::api
