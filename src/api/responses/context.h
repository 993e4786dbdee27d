// Objects of this room.
#pragma once

#include "api/base/context.h"
#include "api/responses/background.h"

namespace corral::api {

struct ResponsesContext {
  CoreContext& core;
  BodyContext& bodies;
  BackgroundResponses* background = nullptr;  // null: no background responses
};

}  // namespace corral::api
