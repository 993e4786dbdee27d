// Options of one model: in a `load` request, saved for a model, and in the settings of the server for all models. One
// table defines JSON in both directions, the checks, the flags of `corral load`, and the options that need a reload.
//
//   request > saved for the model > settings of the server (flag, variable, set value, file) > built-in default
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "json/value.h"
#include "json/writer.h"

namespace corral::config {

// The compute backends: the best one, or one kind. The engine decides which of them exist.
inline constexpr std::string_view kComputeBackends[] = {"auto", "cpu", "cuda", "vulkan", "rocm", "metal"};

// As `mmproj`: the model is loaded without a projector, for text only.
inline constexpr std::string_view kNoProjector = "none";

// As the minimum of a number: 0 itself is excluded.
inline constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();

// Unset: the next source decides.
struct LoadOptions {
  std::optional<std::int64_t> ctx_size;               // tokens of context; -1 or 0: from the model
  std::optional<std::int64_t> parallel;               // requests that run in parallel
  std::optional<std::int64_t> threads;                // compute threads; 0: all cores
  std::optional<std::int64_t> gpu_layers;             // layers on the GPU; -1: all
  std::optional<std::string> llamacpp_backend;        // one of kComputeBackends; empty: auto
  std::optional<bool> kv_unified = {};                // false: a request gets ctx_size / parallel tokens
  std::optional<std::int64_t> batch_size = {};        // most tokens of one forward pass, if the model generates text
  std::optional<std::vector<std::string>> lora = {};  // adapters, each "path[:scale]"
  std::optional<std::int64_t> speculative = {};       // most draft tokens in a pass; 0: none
  std::optional<std::string> draft_model = {};        // file of a draft model; empty: drafts come from the text itself
  std::optional<std::string> mmproj = {};             // kNoProjector, a file, or empty: the one beside the model
  std::optional<bool> mmproj_offload = {};            // false: the projector computes on the CPU
  std::optional<std::string> flash_attention = {};    // "auto", "on", "off"
  std::optional<std::string> cache_type_k = {};       // format of keys and values: "f16", "q8_0", ...
  std::optional<std::string> cache_type_v = {};
  std::optional<std::vector<std::string>> devices = {};  // GPUs by the engine's names, "CUDA0"; none: all
  std::optional<std::string> split_mode = {};            // how GPUs share the model: "none", "layer", "row"
  std::optional<std::string> tensor_split = {};          // shares of the GPUs: "3,1"; empty: by their free memory
  // the GPU for the whole model, or for the parts that can't be split
  std::optional<std::int64_t> main_gpu = {};
  std::optional<bool> swa_full = {};         // layers with a sliding window keep all cells; unset: if that is cheap
  std::optional<bool> mmap = {};             // the file is mapped, not read; unset: automatic
  std::optional<bool> mlock = {};            // its pages stay in memory
  std::optional<std::int64_t> workers = {};  // contexts on the same weights, each with its own cells; 0: automatic

  std::optional<std::string> chat_template = {};  // a Jinja template instead of the file's; empty: the file's
  std::optional<std::string> pooling = {};  // how embeddings are computed from tokens: "mean", "cls", "last", "none"

  std::optional<std::int64_t> park_bytes = {};  // host memory for conversations that lost their KV cells
  std::optional<std::string> park_dir = {};     // folder in which they outlive the process; empty: none

  // Automatic downsize and eviction. These need no reload.
  std::optional<bool> auto_evict = {};
  std::optional<Millis> downsize_idle_timeout = {};  // 0: at once; below 0: never
  std::optional<Millis> evict_idle_timeout = {};
  std::optional<double> evict_weight_factor = {};  // any above 0

  // Flags of llama.cpp's server, unchanged (config/load/llama_args.h). The options above override them. with_args()
  // applies them, not this struct.
  std::optional<std::string> llamacpp_args = {};
  std::optional<bool> merge_args = {};  // false: replaces the server's own flags instead of adding to them

  friend bool operator==(const LoadOptions&, const LoadOptions&) = default;
};

// The member; its type is the option's kind. Durations are seconds in JSON.
using LoadField =
    std::variant<std::optional<std::int64_t> LoadOptions::*, std::optional<double> LoadOptions::*,
                 std::optional<bool> LoadOptions::*, std::optional<Millis> LoadOptions::*,
                 std::optional<std::string> LoadOptions::*, std::optional<std::vector<std::string>> LoadOptions::*>;

struct LoadOption {
  std::string_view key;
  LoadField field;
  double min = -std::numeric_limits<double>::infinity(), max = std::numeric_limits<double>::infinity();  // of numbers
  bool reloads = true;                      // a change needs a new process
  bool internal = false;                    // set by the server: neither requested nor saved
  std::optional<std::int64_t> automatic{};  // the number with the name "auto"
  bool names_files = false;  // texts are paths, which may be relative to different folders in the shell and the server
  std::string_view none{};   // the text that means no file; the flag --no-KEY sets it. Then "auto" is no path either
  std::span<const std::string_view> choices{};  // the valid texts; empty: any. "" is auto
  std::string_view older_flag{};                // alternative name of the flag
  std::string_view value_name{};                // for help: "N"; empty for switches
  std::string_view help{};
};

// All options, in the order of the help.
std::span<const LoadOption> load_options();
const LoadOption* find_load_option(std::string_view key);

bool is_set(const LoadOption& option, const LoadOptions& options);
void unset(const LoadOption& option, LoadOptions& options);

// Reads one value; false, without a change, if it has another kind. Null has no kind. check() checks ranges.
bool read(const LoadOption& option, const json::Value& value, LoadOptions& options);
// The members of an object that are options, of the right kind.
LoadOptions read_load_options(const json::Value& object);
// The value, or null if it is unset.
json::Value to_json(const LoadOption& option, const LoadOptions& options);
// Writes members of an open object: all set options, or those that the model's process needs.
enum class Members { all, of_the_process };
void write_members(json::Writer& out, const LoadOptions& options, Members which);
// Checks ranges of numbers and the form of texts. Errors: invalid_value, with Error::param set.
Result<> check(const LoadOptions& options);

// Options of `first` if set, else of `second`.
LoadOptions merge(const LoadOptions& first, const LoadOptions& second);
// Equal if a reload would change nothing.
std::uint64_t fingerprint(const LoadOptions& options);

// Most tokens of context of one request to a generative model, within the trained context. 0: automatic.
std::int64_t context_of_request(const LoadOptions& options);

// The file of the option `mmproj`; empty: it names none.
std::string_view named_projector(const LoadOptions& options);

// A Jinja template, the word "chatml", or nothing. Errors: invalid_value.
Result<> check_template(const std::string& text);

// Shares of GPUs, "3,1": numbers from 0 on, not all 0. Empty text: none. Errors: invalid_value.
Result<std::vector<float>> parse_tensor_split(std::string_view text);

// An adapter's file and its scale. In "path[:scale]" the scale is the number after the last colon; default 1.
struct LoraFile {
  std::filesystem::path path;
  float scale = 1;
};
LoraFile parse_lora(std::string_view text);

}  // namespace corral::config
