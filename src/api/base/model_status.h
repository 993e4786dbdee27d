// "status.value" of a model: the instance state in the clients' terms. Pure.
#pragma once

#include <string_view>

#include "residency/instance_state.h"

namespace corral::api {

inline std::string_view status_value(residency::InstanceState state) {
  using residency::InstanceState;
  switch (state) {
    case InstanceState::loading:
      return "loading";
    case InstanceState::downsizing:
    case InstanceState::downsized:
      return "downsized";
    case InstanceState::failed:
      return "failed";
    case InstanceState::queued:
    case InstanceState::evicting:
    case InstanceState::gone:
      return "unloaded";
    default:
      return "loaded";
  }
}

}  // namespace corral::api
