// Models of Ollama's registry. A manifest names layers by the hashes of their contents; each layer is fetched like a
// file of the hub. They are stored in the hub cache, as a repository "ollama.com/library/x":
//
//   snapshots/…/x-1b.gguf            the model             mmproj-x-1b.gguf   its projector
//   x-1b.params.json                 its parameters        x-1b-lora.gguf     an adapter that belongs to it
//   x-1b.template.txt, .system.txt, .messages.json, .license.txt              as they are in the registry
//
// The template's format isn't supported; the model's file has its own template. models/ reads the parameters and finds
// the adapter; loads use both as defaults (config/load/ollama_options.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "downloads/hub/hub.h"

namespace corral::downloads {

// The files of a manifest, the model last. Pure. `name`: "library/x". Errors: upstream_malformed; file_not_found for a
// model that isn't one GGUF file.
Result<std::vector<TreeFile>> read_manifest(std::string_view text, std::string_view name, std::string_view tag);

// Fetches a manifest. Errors: those of Hub::list, and of read_manifest.
async::Task<Result<Listing>> list_ollama(Hub& hub, std::string name, std::string tag);

// Possible names of a manifest's files beside the model and its projector, for a model with the name `stem`; for the
// `number`th file of a kind, from 1.
std::vector<std::string> names_beside(std::string_view stem, std::size_t number);
inline constexpr std::size_t kMaxLayers = 100;  // of a manifest

}  // namespace corral::downloads
