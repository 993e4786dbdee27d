// What a group of a mesh has loaded at this node: an engine whose other parts are elsewhere, or a share of another
// node's model. Both are booked, watched and ended by the same house as models are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "backends/wrapped_server.h"
#include "residency/types.h"
#include "router/options/load_spec.h"

namespace corral::router {

struct GroupLoad {
  backends::ModelPtr model;
  std::shared_ptr<backends::Backend> backend;  // of this load alone: who it is
  residency::RequestOrigin origin = residency::RequestOrigin::peer;
  std::uint64_t context = 0;  // tokens that the plan has room for, where the model's options don't say; 0: theirs
  Millis deadline{0};         // 0: as for any load of the model
  std::optional<ShareOf> share = {};
  // Whether something else than what runs on it has ended it: asked when its process has ended by itself, which then
  // is laid at no request's door. On the home loop.
  std::function<bool()> others_ended_it = {};
  // The owner wants the share's memory back. On the home loop, in the middle of a step: it only takes note.
  std::function<void()> recalled = {};
};

}  // namespace corral::router
