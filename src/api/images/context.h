// Objects of this room.
#pragma once

#include "api/images/image_store.h"
#include "api/inference/context.h"

namespace corral::api {

struct ImagesContext {
  InferenceContext& inference;
  ImageStore kept = {};
};

}  // namespace corral::api
