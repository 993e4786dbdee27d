// "status.value" of a model: what its server's state means to a client. Pure.
#pragma once

#include <string_view>

#include "residency/server_state.h"

namespace corral::api {

inline std::string_view status_value(residency::ServerState state) {
  using residency::ServerState;
  switch (state) {
    case ServerState::loading:
      return "loading";
    case ServerState::downsizing:
    case ServerState::downsized:
      return "downsized";
    case ServerState::failed:
      return "failed";
    case ServerState::queued:
    case ServerState::evicting:
    case ServerState::gone:
      return "unloaded";
    default:
      return "loaded";
  }
}

}  // namespace corral::api
