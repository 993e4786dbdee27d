// A load for a group of a mesh at this node: an engine whose other parts are on other nodes, or a share of another
// node's model. The core and the router treat both like models.
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
  std::shared_ptr<backends::Backend> backend;  // of this load only: its identity
  residency::RequestOrigin origin = residency::RequestOrigin::peer;
  std::uint64_t context = 0;  // context of the group's plan, in tokens, if the model's options don't set it; 0: theirs
  Millis deadline{0};         // 0: the usual one of the model
  std::optional<ShareOf> share = {};
  // Whether another cause than its requests ended it: called after an unexpected end of its process. If true, no
  // request is blamed. On the home loop.
  std::function<bool()> others_ended_it = {};
  // Called when this node recalls the share. On the home loop, in the middle of a step: it must only take note.
  std::function<void()> recalled = {};
};

}  // namespace corral::router
