// Objects that every resource of the API uses. Made by the composition root; outlives all handlers.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "api/access/file_gate.h"
#include "api/access/key_places.h"
#include "api/access/key_store.h"
#include "api/files/disk_catalog.h"
#include "api/files/file_verifier.h"
#include "api/files/file_watch.h"
#include "api/llama/kept_props.h"
#include "api/llama/kept_streams.h"
#include "api/responses/background.h"
#include "backends/speech/sound_converter.h"
#include "backends/speech/voices.h"
#include "config/live_settings.h"
#include "dialects/dialect.h"
#include "fleet/base/remote_models.h"
#include "fleet/node/node.h"
#include "http/spool.h"
#include "models/hash/content_hash.h"
#include "router/forward/forwarder.h"
#include "router/model_router.h"
#include "store/store.h"

namespace corral::api {

struct Supply;  // api/supply/supply.h
class StatsRecorder;

struct ApiContext {
  router::ModelRouter& router;
  router::Forwarder& forwarder;
  DiskCatalog& models;
  async::Timers& timers;
  std::string version;
  std::uint64_t max_body_bytes = 32ull << 20;
  config::LiveSettings* settings = nullptr;  // null: the server can't be configured over HTTP
  std::size_t max_event_readers = 256;
  FileGate* files = nullptr;  // null: requests may name any file
  KeyStore* keys = nullptr;   // null: keys can't be listed or changed over HTTP
  // For large bodies (body_check.h); null: they are checked on the loop.
  async::ThreadPool* body_threads = nullptr;
  fleet::Node* node = nullptr;                     // null: this server has no mesh
  const fleet::RemoteModels* elsewhere = nullptr;  // models of other nodes; null: none
  const models::ContentHashes* hashes = nullptr;   // of files; null: no hashes are computed
  // Running requests of a key, unless the key has its own limit; 0: no limit.
  std::uint32_t max_in_flight_per_key = 0;
  int ollama_port = 0;            // port for Ollama's clients; 0: none
  store::Store* store = nullptr;  // storage for data that outlives requests; null: none
  // The server was started with one model, which every name in a request means.
  bool one_model = false;
  std::string request_defaults = {};          // a JSON object (config/load/request_defaults.h); empty: none
  FileVerifier* verifier = nullptr;           // null: files can't be verified over HTTP
  const FileWatch* file_watch = nullptr;      // null: changes of files are not detected
  Supply* supply = nullptr;                   // null: nothing is downloaded, named or deleted over HTTP
  BackgroundResponses* background = nullptr;  // null: no background responses
  StatsRecorder* stats = nullptr;             // null: no statistics over time
  // The one model hasn't been loaded yet.
  std::atomic<bool> given_is_loading{one_model};
  // Dialects of the clients; they outlive this object.
  std::span<const dialects::Dialect* const> dialects = dialects::all();
  std::string build_info = {};  // of the program and its engine, in llama-server's format: "b…"
  KeyPlaces key_places{timers};
  // Spools uploaded files until they are forwarded.
  std::shared_ptr<http::SpoolRoom> uploads =
      std::make_shared<http::SpoolRoom>(std::filesystem::temp_directory_path(), 0, nullptr);
  backends::Voices* voices = nullptr;          // null: no speech
  backends::SoundConverter* sounds = nullptr;  // null: only sound formats that backends read
  // Errors of the descriptors and of models.toml, and keys without effect; unset: none. On any loop.
  std::function<std::vector<std::string>()> backend_problems = {};
  KeptStreams kept_streams{timers};
  KeptProps kept_props = {};
  bool slots = true;            // clients may see them
  bool console = false;         // browsers get the page, if the program has it
  bool models_autoload = true;  // a request may load its model
};

}  // namespace corral::api
