// Objects of this room.
#pragma once

#include "api/access/context.h"
#include "api/base/context.h"
#include "api/files/context.h"
#include "api/supply/supply.h"

namespace corral::api {

struct SupplyContext {
  CoreContext& core;
  BodyContext& bodies;
  AccessContext& access;
  FilesContext& files;
  Supply* supply = nullptr;  // null: nothing is downloaded, named or deleted over HTTP
};

}  // namespace corral::api
