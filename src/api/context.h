// What every resource of the API works with. Made by the composition root; outlives all handlers.
#pragma once

#include <span>
#include <string>

#include "api/file_gate.h"
#include "api/key_store.h"
#include "api/model_finder.h"
#include "config/live_settings.h"
#include "dialects/dialect.h"
#include "fleet/elsewhere.h"
#include "fleet/node.h"
#include "router/forwarder.h"
#include "router/model_router.h"

namespace corral::api {

struct Context {
  router::ModelRouter& router;
  router::Forwarder& forwarder;
  ModelFinder& models;
  async::Timers& timers;
  std::string version;
  std::uint64_t max_body_bytes = 32ull << 20;
  config::LiveSettings* settings = nullptr;  // none: the server can't be configured over HTTP
  std::size_t max_event_readers = 256;
  FileGate* files = nullptr;  // none: requests may name any file
  KeyStore* keys = nullptr;   // none: keys can't be listed or changed over HTTP
  // For large bodies (body_check.h); none: they are looked at on the loop.
  async::ThreadPool* body_threads = nullptr;
  fleet::Node* node = nullptr;                  // none: this server knows nothing of meshes
  const fleet::Elsewhere* elsewhere = nullptr;  // models of other nodes; none: they are nobody's business here
  // What clients may speak; they live as long as this.
  std::span<const dialects::Dialect* const> dialects = dialects::all();
};

}  // namespace corral::api
