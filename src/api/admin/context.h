// Objects of this room.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "api/access/context.h"
#include "api/base/context.h"
#include "api/files/context.h"
#include "api/inference/context.h"
#include "api/supply/context.h"

namespace corral::api {

class StatsRecorder;

struct AdminContext {
  CoreContext& core;
  BodyContext& bodies;
  AccessContext& access;
  FilesContext& files;
  InferenceContext& inference;
  SupplyContext& supply;
  std::size_t max_event_readers = 256;
  StatsRecorder* stats = nullptr;  // null: no statistics over time
  // Errors of the descriptors and of models.toml, and keys without effect; unset: none. On any loop.
  std::function<std::vector<std::string>()> backend_problems = {};
};

}  // namespace corral::api
