// How requests of a key share the server.
#pragma once

#include "api/access/context.h"
#include "api/base/inference_call.h"

namespace corral::api {

// Takes a place among the running requests of the key, and sets the priority. Error: too_many_requests.
Filter key_place_filter(AccessContext& access);

}  // namespace corral::api
