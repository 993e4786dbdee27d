// The hub's URL, the token, and the cache folder: from the variables that every tool of the hub reads.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "models/scan/hub_cache.h"

namespace corral::downloads {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";    // without a slash at its end
  std::string ollama = "https://registry.ollama.ai";  // the same, for Ollama's names
  std::string token = {};                             // empty: none
  std::filesystem::path token_file = {};              // file of the token; empty: from a variable, or none
  std::filesystem::path cache = {};                   // empty: no variable sets a folder
  std::string ca_file = {};                           // certificates; empty: the system's
  bool offline = false;
  std::string offline_variable = "HF_HUB_OFFLINE";  // the variable that set `offline`
};

// HF_ENDPOINT (or MODEL_ENDPOINT); CORRAL_OLLAMA_REGISTRY; HF_TOKEN, else the file HF_TOKEN_PATH, else HF_HOME/token;
// HF_HUB_CACHE and related variables, and the form of all paths, as in models/scan/hub_cache.h; HF_HUB_OFFLINE (or
// TRANSFORMERS_OFFLINE); SSL_CERT_FILE (or CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE). A token that is invalid in a header is
// ignored. Blocking.
HubSettings hub_settings(const models::HubEnvironment& environment);
// The token in the file; empty if there is none. Blocking, for a small file.
std::string read_token(const std::filesystem::path& file);

// Why downloads are disabled, and what to do: a variable overrides the setting `offline`.
Error offline_error(const HubSettings& settings);

}  // namespace corral::downloads
