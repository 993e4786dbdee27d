// A model and the options of its load, as the router gives them to the residency core. A plain value.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/wrapped_server.h"
#include "residency/types.h"
#include "router/options/option_patch.h"

namespace corral::router {

// The host of a share, as text for users.
struct ShareOf {
  std::string host;
  std::string model;
};

// Every spec that the router gives to the core is one of these.
struct LoadSpec : residency::ModelSpec {
  backends::ModelPtr model;
  backends::LoadOptions load_options;  // resolved
  OptionPatch requested;               // the options of the load itself
  backends::Backend* backend = nullptr;
  // Of a group's load.
  std::shared_ptr<backends::Backend> own_backend = {};  // `backend`, which only this load uses
  std::optional<ShareOf> share_of = {};
  std::function<std::string()> others_ended_it = {};
  std::function<void()> recalled = {};

  static const LoadSpec& of(const residency::SpecPtr& spec) { return static_cast<const LoadSpec&>(*spec); }
};

}  // namespace corral::router
