// Options of one load: what a `load` request may say, what the configuration says, what a backend makes of both.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::backends {

// Unset means: the next source in line decides (load request > configuration > built-in default).
struct LoadOptions {
  std::optional<std::int64_t> ctx_size;               // tokens of context; -1 or 0: from the model
  std::optional<std::int64_t> parallel;               // requests that run side by side
  std::optional<std::int64_t> threads;                // compute threads; 0: all cores
  std::optional<std::int64_t> gpu_layers;             // layers on the GPU; -1: all
  std::optional<std::string> llamacpp_backend;        // "cpu": nothing on a GPU; "auto", empty: the best there is
  std::optional<std::vector<std::string>> lora = {};  // adapters, each "path[:scale]"
  std::optional<std::int64_t> speculative = {};       // most tokens guessed ahead in a pass; 0: none
  std::optional<std::string> draft_model = {};        // file of a smaller model that guesses; empty: the text itself

  std::optional<std::int64_t> park_bytes = {};  // host memory for conversations that lost their KV cells
  std::optional<std::string> park_dir = {};     // folder in which they outlive the process; empty: they don't

  friend bool operator==(const LoadOptions&, const LoadOptions&) = default;
};

// `first` where it is set, else `second`.
LoadOptions merge(const LoadOptions& first, const LoadOptions& second);
// Equal options have equal fingerprints; used to see that a reload would change nothing.
std::uint64_t fingerprint(const LoadOptions& options);

// An adapter's file and how strongly it applies. In "path[:scale]" the scale is what stands behind the last colon, if
// that is a number; without one it is 1.
struct LoraFile {
  std::filesystem::path path;
  float scale = 1;
};
LoraFile parse_lora(std::string_view text);

}  // namespace corral::backends
