// Objects of this room.
#pragma once

#include "api/admin/context.h"
#include "api/filters/context.h"
#include "api/llama/kept_props.h"
#include "api/llama/kept_streams.h"

namespace corral::api {

struct LlamaContext {
  CoreContext& core;
  AdminContext& admin;
  InferenceContext& inference;
  FilterContext& filters;
  KeptStreams kept_streams{core.timers};
  KeptProps kept_props = {};
  bool slots = true;  // clients may see them
};

}  // namespace corral::api
