#include "config/load.h"

#include <cstdlib>
#include <utility>

#include "config/files/state_lock.h"
#include "config/load/request_defaults.h"
#include "config/options/assign.h"
#include "config/options/option.h"
#include "config/sources.h"

namespace corral::config {

namespace {

namespace fs = std::filesystem;

Result<> assign_from(const Sources& sources, std::string_view key, ServeSettings& settings) {
  const Option& option = *find_option(key);
  const auto given = find_value(option, sources);
  if (!given) return std::unexpected(given.error());
  settings.origins[std::string(key)] = given->origin;  // also of an invalid value
  return assign(option, *given, sources.paths, settings);
}

// Host, port and key of the system's service, as far as this user can read them.
void take_service(const fs::path& service_file, const Paths& paths, ServeSettings& settings) {
  if (service_file.empty()) return;
  auto file = read_file(service_file, paths, MissingFile::is_fine, UnknownKeys::are_ignored);
  if (!file || file->empty()) return;
  const Environment nothing = [](std::string_view) { return std::nullopt; };
  const Sources sources{
      {.flags = {}, .environment = nothing, .config_file = service_file}, paths, std::move(*file), {}, false};
  ServeSettings service;
  for (const std::string_view key : {"host", "port", "api_key", "state_dir"})
    if (!assign_from(sources, key, service)) return;
  settings.host = service.host;
  settings.port = service.port;
  if (settings.api_key.empty()) settings.api_key = service.api_key;
  if (auto running = running_server(service.state_dir); running && running->port != 0) {
    settings.host = std::move(running->host);
    settings.port = running->port;
  }
}

}  // namespace

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

std::string local_host(std::string host) {
  if (host == "0.0.0.0") return "127.0.0.1";
  if (host == "::" || host == "[::]") return "::1";
  return host;
}

Result<ClientSettings> load_client_settings(const Inputs& inputs) {
  std::optional<Error> broken;
  auto sources = read_sources(inputs, UnknownKeys::are_ignored, nullptr, &broken);
  if (!sources) return std::unexpected(sources.error());
  ServeSettings settings;
  for (const std::string_view key : {"host", "port", "api_key", "state_dir"}) {
    auto done = assign_from(*sources, key, settings);
    const auto origin = settings.origins.find(key);
    if (!done && origin != settings.origins.end() && origin->second.source == Source::file) {
      broken = done.error();
      sources->file.erase(sources->file.find(key));
      done = assign_from(*sources, key, settings);
    }
    if (!done) return std::unexpected(done.error());
  }
  // A file that was named says where its server is, unless it names the folder of one that runs here.
  const bool named = inputs.config_file && settings.origins.at("state_dir").source != Source::file;
  const auto is_given = [&](const char* key) {
    const auto source = settings.origins.at(key).source;
    return source >= Source::environment || (named && source == Source::file);
  };
  if (!is_given("host") && !is_given("port")) {
    const auto is_default = [&](const char* key) { return settings.origins.at(key).source == Source::fallback; };
    if (auto running = running_server(settings.state_dir); running && running->port != 0) {
      settings.host = std::move(running->host);
      settings.port = running->port;
    } else if (!inputs.config_file && !inputs.environment("CORRAL_CONFIG") && is_default("host") &&
               is_default("port")) {
      take_service(inputs.service_file, sources->paths, settings);
    }
  }
  // A server with several addresses is called at the first one.
  if (auto hosts = names_in(settings.host); !hosts.empty()) settings.host = std::move(hosts.front());
  return ClientSettings{local_host(settings.host), settings.port, settings.api_key, broken ? broken->message : ""};
}

Result<std::filesystem::path> find_state_dir(const Inputs& inputs) {
  std::optional<Error> broken;
  const auto sources = read_sources(inputs, UnknownKeys::are_ignored, nullptr, &broken);
  if (!sources) return std::unexpected(sources.error());
  ServeSettings settings;
  if (auto done = assign_from(*sources, "state_dir", settings); !done) return std::unexpected(done.error());
  // The file may name another folder.
  if (broken && settings.origins.at("state_dir").source < Source::environment) return std::unexpected(*broken);
  return settings.state_dir;
}

}  // namespace corral::config
