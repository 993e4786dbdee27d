#include "downloads/settings.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/state_file.h"
#include "base/text.h"
#include "downloads/errors.h"

namespace corral::downloads {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxToken = 4096;

std::string sound_token(std::string_view text) {
  std::string token(trimmed(text));
  const bool sound = token.size() <= kMaxToken &&
                     std::ranges::all_of(token, [](char c) { return c > ' ' && static_cast<unsigned char>(c) < 0x7f; });
  return sound ? token : std::string();
}

// Empty for an empty value.
std::string endpoint_in(std::string_view text) {
  std::string endpoint(trimmed(text));
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint.empty() || endpoint.find("://") != endpoint.npos ? endpoint : "https://" + endpoint;
}

bool is_yes(std::string_view given) {
  const auto text = to_lower(given);
  return text == "1" || text == "true" || text == "yes" || text == "on";
}

}  // namespace

std::string read_token(const fs::path& file) {
  return sound_token(read_state_file(file, kMaxToken + 1).value_or(std::nullopt).value_or(""));
}

HubSettings hub_settings(const models::HubEnvironment& environment) {
  HubSettings settings;
  for (const std::string_view name : {"MODEL_ENDPOINT", "HF_ENDPOINT"})
    if (auto endpoint = endpoint_in(environment(name)); !endpoint.empty()) settings.endpoint = std::move(endpoint);
  if (auto endpoint = endpoint_in(environment("CORRAL_OLLAMA_REGISTRY")); !endpoint.empty())
    settings.ollama = std::move(endpoint);
  settings.cache = models::hub_cache_dir(environment);

  settings.token = sound_token(environment("HF_TOKEN"));
  if (settings.token.empty()) settings.token = sound_token(environment("HUGGING_FACE_HUB_TOKEN"));
  if (settings.token.empty()) {
    const auto path = environment("HF_TOKEN_PATH");
    const auto home = models::hub_home_dir(environment);
    fs::path file = !path.empty() ? models::expand_hub_path(path, environment) : home.empty() ? home : home / "token";
    if (!file.empty()) settings.token = read_token(file);
    settings.token_file = std::move(file);
  }
  for (const std::string_view name : {"TRANSFORMERS_OFFLINE", "HF_HUB_OFFLINE"})
    if (is_yes(environment(name))) {
      settings.offline = true;
      settings.offline_variable = name;
    }
  for (const std::string_view name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"})
    if (settings.ca_file.empty()) settings.ca_file = environment(name);
  return settings;
}

Error offline_error(const HubSettings& settings) {
  constexpr std::string_view kSetting =
      "downloads are disabled: the setting offline is on. Turn it off with: corral config set offline=false";
  if (!settings.offline) return {make_error_code(errc::offline), std::string(kSetting)};
  return {make_error_code(errc::offline),
          fmt::format("downloads are disabled: {0} is set for the server process. Start the server without {0}",
                      settings.offline_variable)};
}

}  // namespace corral::downloads
