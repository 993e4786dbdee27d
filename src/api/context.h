// What every resource of the API works with. Made by the composition root; outlives all handlers.
#pragma once

#include <atomic>
#include <span>
#include <string>

#include "api/file_gate.h"
#include "api/file_verifier.h"
#include "api/file_watch.h"
#include "api/key_places.h"
#include "api/key_store.h"
#include "api/llama/kept_props.h"
#include "api/llama/kept_streams.h"
#include "api/model_finder.h"
#include "api/responses/background.h"
#include "backends/speech/sound_converter.h"
#include "backends/speech/voices.h"
#include "config/live_settings.h"
#include "dialects/dialect.h"
#include "fleet/base/remote_models.h"
#include "fleet/node/node.h"
#include "http/spool.h"
#include "models/content_hash.h"
#include "router/forward/forwarder.h"
#include "router/model_router.h"
#include "store/store.h"

namespace corral::api {

struct Supply;  // api/supply/supply.h

struct ApiContext {
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
  fleet::Node* node = nullptr;                     // none: this server knows nothing of meshes
  const fleet::RemoteModels* elsewhere = nullptr;  // models of other nodes; none: they are nobody's business here
  const models::ContentHashes* hashes = nullptr;   // of files; none: nobody computes any
  // Requests that a key may have under way, unless it says so itself; 0: any number.
  std::uint32_t max_in_flight_per_key = 0;
  int ollama_port = 0;            // where Ollama's clients look for it; 0: nowhere
  store::Store* store = nullptr;  // of what outlives requests; none: nothing does
  // There is one model, which was given at the start: whatever name a request says means it.
  bool one_model = false;
  std::string request_defaults = {};          // a JSON object (config/request_defaults.h); empty: none
  FileVerifier* verifier = nullptr;           // none: files can't be verified over HTTP
  const FileWatch* file_watch = nullptr;      // none: nobody notices files that change
  Supply* supply = nullptr;                   // none: nothing is fetched, named or deleted over HTTP
  BackgroundResponses* background = nullptr;  // none: there are no responses in the background
  // Of the one model: it hasn't been loaded yet.
  std::atomic<bool> given_is_loading{one_model};
  // What clients may speak; they live as long as this.
  std::span<const dialects::Dialect* const> dialects = dialects::all();
  std::string build_info = {};   // of the program and its engine, as llama-server writes it: "b…"
  std::uint32_t max_models = 0;  // what GET /props tells of a server of several models; 0: any number
  KeyPlaces key_places{timers};
  // Where files that requests bring are kept until they are passed on.
  std::shared_ptr<http::SpoolRoom> uploads =
      std::make_shared<http::SpoolRoom>(std::filesystem::temp_directory_path(), 0, nullptr);
  backends::Voices* voices = nullptr;          // none: no program speaks
  backends::SoundConverter* sounds = nullptr;  // none: sound is taken only as backends read it
  KeptStreams kept_streams{timers};
  KeptProps kept_props = {};
};

}  // namespace corral::api
