// Where the hub is, who asks it, and where its files go: from the variables that every tool of the hub reads.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::downloads {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";    // without a slash at its end
  std::string ollama = "https://registry.ollama.ai";  // the same, for the names of Ollama's
  std::string token = {};                             // empty: none
  std::filesystem::path token_file = {};              // where it comes from; empty: from a variable, or nowhere
  std::filesystem::path cache = {};                   // empty: no folder is named anywhere
  std::string ca_file = {};                           // certificates; empty: the system's
  bool offline = false;
  std::string offline_variable = "HF_HUB_OFFLINE";  // the one that says so
};

// The value of a variable of the environment; empty if it isn't set.
using Environment = std::function<std::string(std::string_view name)>;

// HF_ENDPOINT (or MODEL_ENDPOINT); CORRAL_OLLAMA_REGISTRY; HF_TOKEN, else the file HF_TOKEN_PATH, else HF_HOME/token;
// HF_HUB_CACHE and its kin as models/hub_cache.h says; HF_HUB_OFFLINE (or TRANSFORMERS_OFFLINE); SSL_CERT_FILE (or
// CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE). A token that no header could carry is none. Blocking.
HubSettings hub_settings(const Environment& environment);
// The token in the file; empty if there is none. Blocking, for a small file.
std::string read_token(const std::filesystem::path& file);

// Why nothing is fetched, and what to do: a variable outranks the setting `offline`.
Error offline_error(const HubSettings& settings);

}  // namespace corral::downloads
