// Converts the server's JSON to plain structs and back. The fields are those of the HTTP API; unknown or missing ones
// are no error.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/load/load_options.h"

namespace corral::cli {

struct ListedModel {
  std::string name;
  std::string type;
  std::string recipe;
  std::string state;                        // "unloaded", "loaded", …
  std::string quantization;                 // "Q8_0"; from the name if the server doesn't report it
  std::optional<std::uint64_t> size;        // bytes
  std::optional<std::int64_t> context;      // context of one conversation, now or after a load
  std::optional<std::int64_t> max_context;  // trained context
  std::vector<std::string> nodes = {};      // nodes of the mesh that have it on disk; empty: no mesh
  bool is_far = false;                      // the server itself isn't one of them
  std::string alias_of = {};                // the entry is an alias of this model; empty: it is a model
};

// A model in the memory of another node of the mesh.
struct RemoteServedModel {
  std::string node;
  std::string model;
  std::string state;
  std::int64_t running = 0;
  std::optional<std::uint64_t> memory = {};
};

struct LoadedModel {
  std::string name;
  std::string type;
  std::string device;
  std::string status;
  std::string leaving;                  // stop reason, while it is being stopped
  std::optional<std::uint64_t> memory;  // bytes of the machine's RAM
  std::uint64_t gpu_memory = 0;         // predicted memory on GPUs; 0: none or unknown
  std::optional<std::int64_t> context;
  std::optional<std::int64_t> max_context;
  std::int64_t last_use = 0;  // epoch milliseconds; 0: unknown
  std::int64_t active_requests = 0;
  bool pinned = false;
  bool lent = false;          // for other nodes of the mesh
  bool file_changed = false;  // one of its files has changed since the load
};

// A share of another node's model.
struct LentShare {
  std::string model;
  std::string host;
  std::string device;
  std::string leaving;                  // stop reason, while it is being stopped
  std::optional<std::uint64_t> memory;  // bytes
};

struct LoadingModel {
  std::string name;
  std::string type = {};
  double progress = 0;  // 0–1
};

struct QueuedLoad {
  std::string name;
  std::string type;
  std::int64_t position = 0;
  std::int64_t waiting_ms = 0;
  std::int64_t waiters = 0;
  std::vector<std::string> waiting_for;  // models that must be evicted first
};

// A file or folder that gives no model.
struct ModelProblem {
  std::string path;
  std::string message;
};

struct Health {
  std::string version;
  std::vector<LoadedModel> loaded;  // stopping ones are last
  std::vector<LoadingModel> loading;
  std::vector<QueuedLoad> queue;
  std::vector<LentShare> shares;
  std::map<std::string, std::int64_t, std::less<>> max_models;     // by type; -1: unlimited
  std::map<std::string, std::int64_t, std::less<>> pinned_models;  // by type
  std::vector<RemoteServedModel> elsewhere;                        // in a mesh
  std::vector<std::string> problems;                               // of the configuration
  std::int64_t models_known = 0;
  std::vector<ModelProblem> model_problems = {};  // the first ones
  std::int64_t model_problem_count = 0;
  bool in_mesh = false;

  const LoadedModel* find(std::string_view name) const;
};

// Errors of the parsers: bad_answer.
Result<std::vector<ListedModel>> parse_models(std::string_view text);
// The same list with only the models whose names `takes` accepts.
Result<std::string> filtered_models(std::string_view text, const std::function<bool(std::string_view)>& takes);
Result<ListedModel> parse_model(std::string_view text);
Result<Health> parse_health(std::string_view text);

// One event of the stream of changes; its name determines which members are used.
struct ServerEvent {
  std::string name;       // "snapshot", "server", "load", "queue", "pin", "settings", "mesh", "shutdown"
  std::int64_t time = 0;  // epoch milliseconds
  std::string model;
  std::string stage;   // of a load
  std::string from;    // previous state of an instance
  std::string status;  // new state
  std::string reason;
  std::string cause;
  double progress = 0;
  std::int64_t load_duration_ms = 0;
  std::int64_t active_requests = 0;
  bool pinned = false;
  std::string change;  // of the mesh: "status", "admitted", "removed", "reachable", "away", "model"
  std::string node;
  Health health;  // of a snapshot; only the queue or the limits in events about these
};
Result<ServerEvent> parse_house_event(std::string_view name, std::string_view data);
// {"event":NAME,"data":DATA} on one line.
std::string event_line(std::string_view name, std::string_view data);

// Token usage of requests.
struct RequestNumbers {
  std::string model;
  std::int64_t prompt_tokens = 0;  // cached ones included
  std::int64_t cached_tokens = 0;
  std::int64_t output_tokens = 0;
  double first_token_seconds = 0;
  double tokens_per_second = 0;
};
struct Stats {
  RequestNumbers last;
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t output_tokens = 0;
};
Result<Stats> parse_stats(std::string_view text);

struct LoadProgress {
  double progress = 0;
  std::string stage;
};
Result<LoadProgress> parse_load_progress(std::string_view text);

// The result of a load.
struct LoadOutcome {
  std::optional<std::int64_t> context, max_context;
  std::vector<std::string> warnings;
  bool already_loaded = false;
};
Result<LoadOutcome> parse_load_outcome(std::string_view text);

// Predicted memory of a model, in bytes.
struct EstimatedMemory {
  struct Device {
    std::string name;
    std::uint64_t weights = 0, kv = 0, compute = 0, total = 0;
  };
  std::vector<Device> devices;
  std::uint64_t process = 0;
  std::uint64_t mapped = 0;    // pages of the file, which the kernel can drop and read again
  std::uint64_t resident = 0;  // resident host memory of the process
  std::uint64_t total = 0;
};
Result<EstimatedMemory> parse_estimate(std::string_view text);

struct Unloaded {
  std::string message;
  std::vector<std::string> unloaded;
  std::vector<std::string> draining;
};
Result<Unloaded> parse_unloaded(std::string_view text);

// The server's error message, in any error format; nullopt: the text has no error.
std::optional<std::string> error_in(std::string_view text);
// The code of the error ("needs_admin_key"); empty: none.
std::string error_code_in(std::string_view text);

struct Setting {
  std::string key;
  std::string value;
  std::string where;          // "default", "--port", ...
  std::string source;         // "default", "file", "set", "environment", "flag"
  std::string after_restart;  // empty: unchanged
};
struct Settings {
  std::vector<Setting> rows;
  std::string problem;    // of the configuration file
  std::string file = {};  // the configuration file on the server's machine

  const Setting* find(std::string_view key) const;
};
Result<Settings> parse_settings(std::string_view text);
// {"KEY":{…}} of the server's answer; "{}" without that key.
std::string setting_object(std::string_view text, std::string_view key);

struct UpdatedSetting {
  std::string key;
  std::string value;
  std::string applies;
};
Result<std::vector<UpdatedSetting>> parse_updated_settings(std::string_view text);
// Keys and values as typed: JSON values as such, everything else as a text.
std::string set_body(const std::vector<std::pair<std::string, std::string>>& values);

struct LoadRequest {
  std::string model;
  config::LoadOptions values = {};
  std::optional<bool> pinned = {};
  bool save = false;
  std::vector<std::string> split = {};  // nodes of a split model

  bool any() const { return values != config::LoadOptions() || pinned || save; }
};
std::string load_body(const LoadRequest& options, bool stream);
std::string pin_body(const std::string& model, bool pinned);
std::string unload_body(const std::string& model);

// A picture or a sound of a message.
struct Attachment {
  std::string type;  // of its bytes: "image/png", "audio/wav"
  std::string base64;
};
struct ChatMessage {
  std::string role;
  std::string content;
  std::vector<Attachment> attachments = {};
};
struct ChatOptions {
  std::string model;
  // Further fields of the request: names and JSON texts.
  std::vector<std::pair<std::string, std::string>> fields = {};
};
std::string chat_body(const ChatOptions& options, const std::vector<ChatMessage>& messages, bool stream);

// {"error": {"message", "code"}}; the code is the server's, if the error is.
std::string error_object(const Error& error);

// A JSON object of texts, in this order.
std::string text_object(const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace corral::cli
