// All descriptors, and the models that are configured with them: the built-in ones, those in `backends.d` of the
// configuration's folder, and `models.toml` there. Reading blocks.
//
//   # backends.d/my-server.toml: a new recipe, or one that replaces a built-in one
//   recipe = "my-server"
//   command = ["/opt/my-server", "--port", "{port}", "--model", "{model}", "{args}"]
//   paths = { "chat/completions" = "/v1/chat/completions" }
//
//   # models.toml
//   [macros]
//   llama = "llama-server --port {port}"
//   [models.small]
//   cmd = "${llama} -m /srv/models/small.gguf"     # a program for this model alone, or:
//   [models.large]
//   recipe = "vllm"
//   checkpoint = "org/large"
//   ttl = 600
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/external/descriptor.h"
#include "base/error.h"
#include "base/recipe_table.h"
#include "models/model_info.h"

namespace corral::backends {

using DescriptorPtr = std::shared_ptr<const Descriptor>;

// The recipe of models that have only a command of their own.
inline constexpr std::string_view kCommandRecipe = "command";

// Of corral's own engine.
inline constexpr std::string_view kEngineRecipe = "llamacpp";

// One model in `models.toml`.
struct ModelEntry {
  std::string name;
  std::string checkpoint;
  std::map<std::string, std::string> parts;  // other checkpoints by role: "vae"
  std::vector<std::string> labels;
  std::vector<std::string> aliases;
  std::optional<Millis> ttl;  // idle time until it is evicted; 0: never
  models::Declared declared;
  // Of its recipe, overridden by the entry; null: corral's own engine serves it.
  DescriptorPtr descriptor;

  std::string_view recipe() const { return descriptor ? std::string_view(descriptor->recipe) : kEngineRecipe; }
};

struct KnownBackends {
  std::vector<DescriptorPtr> descriptors;  // by recipe
  RecipeTable recipes;                     // with these descriptors, and those of earlier readings
  std::vector<ModelEntry> models;
  std::vector<std::string> preload;   // names of models that are loaded at the start
  std::vector<Error> problems;        // files and entries that are ignored
  std::vector<Error> warnings;        // keys that have no effect
  std::filesystem::path models_file;  // models.toml; it may not exist

  DescriptorPtr find(std::string_view recipe) const;
};

// The descriptors in src/backends/descriptors.
std::span<const DescriptorPtr> builtin_descriptors();

// `folder`: of the configuration file; empty: only the built-in ones. `before`: what was read the last time; files that
// can't be read now keep what they said then. Null: there is nothing before.
KnownBackends read_backends(const std::filesystem::path& folder, const KnownBackends* before = nullptr);

// For tests, and for descriptors from other sources. Errors: bad_descriptor.
Result<Descriptor> parse_descriptor(std::string_view text, const std::string& name);
// Adds the entries of a `models.toml`. `text` of the file `name`.
void parse_models(std::string_view text, const std::string& name, KnownBackends& into);

}  // namespace corral::backends
