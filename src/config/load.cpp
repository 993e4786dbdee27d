#include "config/load.h"

#include <cstdlib>

#include "config/options/assign.h"
#include "config/options/option.h"
#include "config/sources.h"

namespace corral::config {

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

Result<ServeSettings> load_serve_settings(const Inputs& inputs) {
  const auto sources = read_sources(inputs, UnknownKeys::are_errors);
  if (!sources) return std::unexpected(sources.error());
  return resolve(*sources);
}

Result<ClientSettings> load_client_settings(const Inputs& inputs) {
  const auto sources = read_sources(inputs, UnknownKeys::are_ignored);
  if (!sources) return std::unexpected(sources.error());
  ServeSettings settings;
  for (const std::string_view key : {"host", "port", "api_key"}) {
    const Option& option = *find_option(key);
    const auto given = find_value(option, *sources);
    if (!given) return std::unexpected(given.error());
    if (auto done = assign(option, *given, sources->paths, settings); !done) return std::unexpected(done.error());
  }
  if (settings.host == "0.0.0.0") settings.host = "127.0.0.1";
  if (settings.host == "::" || settings.host == "[::]") settings.host = "::1";
  return ClientSettings{settings.host, settings.port, settings.api_key};
}

Result<std::filesystem::path> find_state_dir(const Inputs& inputs) {
  const auto sources = read_sources(inputs, UnknownKeys::are_ignored);
  if (!sources) return std::unexpected(sources.error());
  ServeSettings settings;
  const Option& option = *find_option("state_dir");
  const auto given = find_value(option, *sources);
  if (!given) return std::unexpected(given.error());
  if (auto done = assign(option, *given, sources->paths, settings); !done) return std::unexpected(done.error());
  return settings.state_dir;
}

}  // namespace corral::config
