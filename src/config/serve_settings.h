// The settings of `corral serve`, typed and checked, each with the place it came from. A plain value: made by
// load_serve_settings(), kept and replaced as a whole by LiveSettings, safe to copy and to read on every thread.
//
// Defaults, ranges and help stand in the table of options.cpp and nowhere else: a default-constructed object is empty.
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

// What a node does for others in a mesh. auto: a worker where it joined by a flag and has no models, else a member.
inline constexpr std::string_view kMeshRoles[] = {"auto", "member", "worker", "client"};

// What the file given by `model_file` is: auto: what it says itself.
inline constexpr std::string_view kGivenTypes[] = {"auto", "llm", "embedding", "reranking"};

struct ServeSettings {
  // Where it listens and who may come in.
  std::string host;
  int port = 0;
  int ollama_port = 0;  // listens there as well; 0: it doesn't
  std::string api_key;  // empty: nobody is asked for one. Never to be printed
  bool allow_open = false;
  std::string allowed_origins;  // of pages, with spaces between; see origins.h
  std::string allowed_hosts;
  Bytes max_body_bytes;
  Bytes max_bodies_bytes;   // of all requests under way; 0: no limit
  Bytes max_upload_bytes;   // of a form with files
  Bytes max_uploads_bytes;  // of the files of all requests under way, on disk; 0: no limit
  int max_connections = 0;
  int max_connections_per_address = 0;  // 0: no limit
  int max_in_flight_per_key = 0;        // 0: no limit
  int max_event_readers = 0;
  Millis head_timeout{};
  Millis slow_client_timeout{};
  int io_threads = 0;  // 0: as many as fit the machine

  // Which models there are.
  std::vector<std::filesystem::path> models_dir;
  bool hub_cache = false;      // also list the GGUF files of the Hugging Face hub cache
  bool auto_pull = false;      // a request that names a model of the hub that isn't here has it fetched
  bool offline = false;        // nothing is fetched from anywhere
  int downloads_at_once = 0;   // models that are fetched side by side
  int download_ranges = 0;     // connections of each
  std::string import_folders;  // of other programs: their names or folders, with spaces between
  // One file that is served instead of them, whatever name a request says; empty: none. Of that one:
  std::filesystem::path model_file;
  std::string alias;       // its names, with commas between
  std::string model_type;  // one of kGivenTypes

  // Which are in memory.
  std::string max_loaded_models;  // "N", "-1", "5 2 4" or "llm=3,embedding=2,*=1"
  Millis swap_patience{};
  bool nuclear_evicts_pinned = false;
  Bytes memory_limit;     // of this process and its engines together; 0: what the system gives
  Millis load_timeout{};  // 0: from the size of the files
  bool warm_spare = false;
  Millis watchdog_timeout{};  // of silence, then a model's process counts as hung; 0: never

  // Which leave memory by themselves. All but the threshold are what holds for models that say nothing else.
  bool auto_evict = false;
  double auto_evict_threshold_pct = 0;  // of the memory of a device, 0 to 1
  Millis downsize_idle_timeout{};
  Millis evict_idle_timeout{};
  double evict_weight_factor = 0;

  // How a model runs.
  int ctx_size = 0;              // tokens; 0: from the model and the memory
  int threads = 0;               // compute threads of all engines together; 0: all cores
  int parallel = 0;              // sequences that one engine works on at once
  int speculative = 0;           // most tokens guessed ahead; 0: none
  std::string llamacpp_backend;  // what it computes with, one of kComputeBackends
  std::string llamacpp_args;     // flags of llama.cpp's server for every model
  std::string chat_template;     // a Jinja template instead of each model's own; empty: none
  std::string request_defaults;  // a JSON object: what requests mean where they say nothing; empty: nothing
  int park_mib = 0;              // host memory of each model for conversations that lost their KV cells, in MiB
  bool park_on_disk = false;     // they outlive their engine, in state_dir

  // The mesh.
  std::string mesh_listen;     // address and port for other nodes; used by members of a mesh only
  std::string mesh_advertise;  // addresses that others are told, with spaces between; empty: those of the machine
  int mesh_gossip_port = 0;
  std::string mesh_name;                // what people call this node; empty: its host's name
  std::string mesh_role;                // one of kMeshRoles
  std::string mesh_peers;               // "NODE@ADDRESS", with spaces between
  std::string mesh_models;              // that the mesh is to have, with spaces between
  double mesh_lend_memory = 0;          // share of each memory for models that others want, 0 to 1
  Millis mesh_idle_unload{};            // of a model that was loaded for others; kNever: not by itself
  bool mesh_copies = false;             // others may copy models from here
  bool mesh_auto_copy = false;          // the mesh may have models copied here that this node is to serve
  bool mesh_admin = false;              // administrators of other nodes may order what this node serves
  std::filesystem::path mesh_identity;  // the node's key; empty: one of its own in state_dir
  std::string join_token;               // a token, or a file that holds one; empty: none. Never to be printed

  // What outlives requests, in one file of state_dir.
  bool store_responses = false;  // OpenAI's responses and conversations
  Bytes max_stored_bytes;        // of these
  Millis max_stored_age{};
  int max_activity_rows = 0;  // requests that have ended; 0: none
  Millis max_activity_age{};
  bool capture_bodies = false;  // what requests and answers say
  Bytes max_capture_bytes;

  // The process.
  log::Level log_level = log::Level::info;
  Millis drain_timeout{};  // how long a stop waits for running requests
  std::filesystem::path runtime_dir;
  std::filesystem::path state_dir;

  bool has_key_file = false;  // there is a keys_file(), so somebody is asked for a key

  // By key, e.g. origins.at("port"). Holds every option.
  std::map<std::string, Origin, std::less<>> origins;

  std::filesystem::path log_dir() const { return state_dir / "log"; }
  // Where copies of models go that come from other nodes.
  std::filesystem::path copies_dir() const { return state_dir / "models"; }
  // Where models are that were brought by `corral import`.
  std::filesystem::path imported_dir() const { return state_dir / "imported"; }
  // Names that were given to models.
  std::filesystem::path user_models_file() const { return state_dir / "user_models.json"; }
  std::filesystem::path aliases_file() const { return state_dir / "aliases.json"; }
  // Downloads that haven't ended.
  std::filesystem::path downloads_file() const { return state_dir / "downloads.json"; }
  // That other nodes have sent to workers here.
  std::filesystem::path weights_dir() const { return state_dir / "weights"; }
  // Files of requests, until they are passed on. They have no names there.
  std::filesystem::path uploads_dir() const { return state_dir / "uploads"; }
  // What makes this node a member of a mesh.
  std::filesystem::path mesh_dir() const { return state_dir / "mesh"; }
  // What was set while a server ran.
  std::filesystem::path set_values_file() const { return state_dir / "settings.json"; }
  // Keys of clients, and when each was last used.
  std::filesystem::path keys_file() const { return state_dir / "keys.json"; }
  std::filesystem::path key_uses_file() const { return state_dir / "key-uses.json"; }
  // What outlives requests.
  std::filesystem::path store_file() const { return state_dir / "kept.sqlite"; }
};

// What a command needs to reach a server.
struct ClientSettings {
  std::string host;
  int port = 0;
  std::string api_key;
};

}  // namespace corral::config
