// What every resource of the API works with. Made by the composition root; outlives all handlers.
#pragma once

#include <string>

#include "api/model_finder.h"
#include "config/live_settings.h"
#include "router/forwarder.h"
#include "router/model_router.h"

namespace corral::api {

struct Context {
  router::ModelRouter& router;
  router::Forwarder& forwarder;
  ModelFinder& models;
  async::Timers& timers;
  std::string version;
  std::uint64_t max_body_bytes = 256ull << 20;
  config::LiveSettings* settings = nullptr;  // none: the server can't be configured over HTTP
};

}  // namespace corral::api
