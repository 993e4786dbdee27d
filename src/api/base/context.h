// Objects that most rooms use. Made by the composition root; they outlive all handlers.
#pragma once

#include <cstdint>
#include <string>

#include "async/offload.h"
#include "async/timer.h"
#include "config/live_settings.h"
#include "fleet/node/node.h"
#include "router/forward/forwarder.h"
#include "router/model_router.h"
#include "store/store.h"

namespace corral::api {

// Facts of the server itself, for clients.
struct ServerInfo {
  std::string version;
  std::string build_info = {};  // of the program and its engine, in llama-server's format: "b…"
  int ollama_port = 0;          // port for Ollama's clients; 0: none
  bool console = false;         // browsers get the page, if the program has it
};

struct CoreContext {
  router::ModelRouter& router;
  router::Forwarder& forwarder;
  async::Timers& timers;
  ServerInfo about;
  config::LiveSettings* settings = nullptr;  // null: the server can't be configured over HTTP
  fleet::Node* node = nullptr;               // null: this server has no mesh
  store::Store* store = nullptr;             // storage for data that outlives requests; null: none
  // The server was started with one model, which every name in a request means.
  bool one_model = false;
};

// How bodies of requests are read.
struct BodyContext {
  std::uint64_t max_bytes = 32ull << 20;
  // For large bodies (body_check.h); null: they are checked on the loop.
  async::ThreadPool* threads = nullptr;
};

}  // namespace corral::api
