// The folder in which Ollama keeps its models, read where it is: nothing in it is copied or changed.
//
//   manifests/registry.ollama.ai/library/llama3.2/1b    JSON that lists the parts of a model ("layers")
//   blobs/sha256-HEX                                    the parts, by their content: GGUF, template, parameters, ...
//
// Blocking file access.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace corral::models {

struct OllamaModel {
  std::string name;                           // as its own program lists it: "llama3.2:1b"; "llama3.2" for ":latest"
  std::filesystem::path weights;              // in blobs
  std::vector<std::filesystem::path> others;  // projectors, adapters
};

// Sorted by name. `max`: limit of directory entries. Skips unreadable files.
std::vector<OllamaModel> ollama_models(const std::filesystem::path& folder, std::size_t max);

// The files that a manifest lists; weights are empty where it lists none. Pure.
OllamaModel read_ollama_manifest(std::string_view text, const std::filesystem::path& folder);

}  // namespace corral::models
