// The settings of `corral serve`, typed and checked, each with its origin. A plain value: made by
// load_serve_settings(), kept and replaced as a whole by LiveSettings, safe to copy and to read on every thread.
//
// The table of options.cpp has defaults, ranges and help: a default-constructed object is empty.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/named.h"

namespace corral::config {

// Lowest to highest precedence.
enum class Source { fallback, file, set, environment, flag };

struct Origin {
  Source source = Source::fallback;
  std::string where;  // "default", "/etc/corral.toml:3", "~/.local/state/corral/settings.json", "CORRAL_PORT", "--port"
};

// The role of a node in a mesh. auto: a worker if it joined by a flag and has no models, else a member.
inline constexpr std::string_view kMeshRoles[] = {"auto", "member", "worker", "client"};

// The type of the file `model_file`; auto: detected from the file.
inline constexpr std::string_view kGivenTypes[] = {"auto", "llm", "embedding", "reranking"};

struct ServeSettings {
  // Addresses and access.
  std::string host;  // one or more addresses, separated by commas (names_in())
  int port = 0;
  int ollama_port = 0;  // additional port; 0: none
  std::string api_key;  // empty: no key. Never print it
  bool allow_open = false;
  std::string allowed_origins;  // of pages, separated by spaces; see origins.h
  std::string allowed_hosts;
  Bytes max_body_bytes;
  Bytes max_bodies_bytes;     // of all running requests; 0: no limit
  Bytes max_upload_bytes;     // of a form with files
  Bytes max_uploads_bytes;    // of the files of all running requests, on disk; 0: no limit
  bool fetch_images = false;  // pictures of requests may be at http and https URLs
  int max_connections = 0;
  int max_connections_per_address = 0;  // 0: no limit
  int max_in_flight_per_key = 0;        // 0: no limit
  int max_event_readers = 0;
  Millis head_timeout{};
  Millis slow_client_timeout{};
  bool slots = false;    // clients may see them
  bool console = false;  // browsers get the page
  int io_threads = 0;    // 0: automatic

  // The models.
  std::vector<std::filesystem::path> models_dir;
  bool hub_cache = false;      // also list the GGUF files of the Hugging Face hub cache
  bool espeak_model = false;   // list espeak-ng if its program is installed
  bool auto_pull = false;      // requests may download a missing model of the hub
  bool offline = false;        // no downloads
  int downloads_at_once = 0;   // parallel downloads
  int download_ranges = 0;     // connections of each download
  std::string import_folders;  // of other programs: their names or folders, separated by spaces
  // A single model to serve, for every name in requests: a file, or one of the hub; empty: none. Of that model:
  std::filesystem::path model_file;
  std::string hub_model;   // "org/repo:QUANT"
  std::string alias;       // its names, separated by commas
  std::string tags;        // of that model in lists, separated by commas
  std::string model_type;  // one of kGivenTypes

  // Models in memory.
  std::string max_loaded_models;  // "N", "-1", "5 2 4" or "llm=3,embedding=2,*=1"
  bool models_autoload = false;   // a request may load its model
  Millis swap_patience{};
  bool nuclear_evicts_pinned = false;
  Bytes memory_limit;     // of this process and its engines together; 0: all that the system gives
  Millis load_timeout{};  // 0: from the size of the files
  bool warm_spare = false;
  Millis watchdog_timeout{};  // silence after which a model's process counts as hung; 0: never

  // Automatic downsize and eviction. All but the threshold are defaults for models without own values.
  bool auto_evict = false;
  double auto_evict_threshold_pct = 0;  // of the memory of a device, 0 to 1
  Millis downsize_idle_timeout{};
  Millis evict_idle_timeout{};
  double evict_weight_factor = 0;

  // Options of models.
  int ctx_size = 0;              // tokens; 0: from the model and the memory
  int threads = 0;               // compute threads of all engines together; 0: all cores
  int parallel = 0;              // parallel sequences of one engine
  int speculative = 0;           // most draft tokens; 0: none
  std::string llamacpp_backend;  // compute backend, one of kComputeBackends
  std::string llamacpp_args;     // flags of llama.cpp's server for every model
  std::string chat_template;     // a Jinja template instead of each model's own; empty: none
  std::string request_defaults;  // a JSON object with default values of request fields; empty: none
  int park_mib = 0;              // host memory of each model for conversations that lost their KV cells, in MiB
  bool park_on_disk = false;     // parked conversations outlive their engine, in state_dir

  // The mesh.
  std::string mesh_listen;     // address and port for other nodes; used by members of a mesh only
  std::string mesh_advertise;  // published addresses, separated by spaces; empty: those of the machine
  int mesh_gossip_port = 0;
  std::string mesh_name;                // name of this node; empty: its host's name
  std::string mesh_role;                // one of kMeshRoles
  std::string mesh_peers;               // "NODE@ADDRESS", separated by spaces
  std::string mesh_models;              // models for the allocation, separated by spaces
  double mesh_lend_memory = 0;          // part of each memory pool for models of other nodes, 0 to 1
  Millis mesh_idle_unload{};            // of a model that was loaded for others; kNever: not automatically
  bool mesh_copies = false;             // other nodes may copy models from here
  bool mesh_auto_copy = false;          // the mesh may copy models to this node that it should serve
  bool mesh_admin = false;              // administrators of other nodes may control which models this node serves
  std::filesystem::path mesh_identity;  // the node's key file; empty: its own one in state_dir
  std::string join_token;               // a join token, or a file with one; empty: none. Never print it

  // The store, in one file of state_dir.
  bool store_responses = false;  // OpenAI's responses and conversations
  Bytes max_stored_bytes;        // of these
  Millis max_stored_age{};
  int max_activity_rows = 0;  // requests that have ended; 0: none
  Millis max_activity_age{};
  bool capture_bodies = false;  // bodies of requests and answers
  Bytes max_capture_bytes;

  // The process.
  log::Level log_level = log::Level::info;
  Millis drain_timeout{};  // how long a stop waits for running requests
  std::filesystem::path runtime_dir;
  std::filesystem::path state_dir;

  bool has_key_file = false;  // a keys_file() exists, so every request needs a key

  // By key, e.g. origins.at("port"). Has every option.
  std::map<std::string, Origin, std::less<>> origins;

  bool has_one_model() const { return !model_file.empty() || !hub_model.empty(); }

  std::filesystem::path log_dir() const { return state_dir / "log"; }
  // Copies of models from other nodes.
  std::filesystem::path copies_dir() const { return state_dir / "models"; }
  // Models of `corral import`.
  std::filesystem::path imported_dir() const { return state_dir / "imported"; }
  // Names of models that users gave.
  std::filesystem::path user_models_file() const { return state_dir / "user_models.json"; }
  std::filesystem::path aliases_file() const { return state_dir / "aliases.json"; }
  // Unfinished downloads.
  std::filesystem::path downloads_file() const { return state_dir / "downloads.json"; }
  // Weights that other nodes have sent to RPC workers here.
  std::filesystem::path weights_dir() const { return state_dir / "weights"; }
  // Files of requests, until they are forwarded. They have no names there.
  std::filesystem::path uploads_dir() const { return state_dir / "uploads"; }
  // Key and state of this node as a member of a mesh.
  std::filesystem::path mesh_dir() const { return state_dir / "mesh"; }
  // Values that were set at run time.
  std::filesystem::path set_values_file() const { return state_dir / "settings.json"; }
  // Keys of clients, and when each was last used.
  std::filesystem::path keys_file() const { return state_dir / "keys.json"; }
  std::filesystem::path key_uses_file() const { return state_dir / "key-uses.json"; }
  // The store.
  std::filesystem::path store_file() const { return state_dir / "kept.sqlite"; }
};

// The settings of a command that calls a server.
struct ClientSettings {
  std::string host;
  int port = 0;
  std::string api_key;
  std::string problem = {};  // why the configuration file is ignored; empty: it isn't
};

}  // namespace corral::config
