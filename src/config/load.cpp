#include "config/load.h"

#include <array>
#include <cstdlib>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "config/assign.h"
#include "config/errors.h"
#include "config/file.h"
#include "config/option.h"
#include "config/paths.h"

namespace corral::config {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split_paths(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The sources, highest precedence first.
Given find_value(const Option& option, const Inputs& inputs, const FileValues& file) {
  if (const auto flag = inputs.flags.find(option.key); flag != inputs.flags.end()) {
    return {flag->second, {Source::flag, flag_of(option)}, {}};
  }
  const std::string variable = variable_of(option);
  if (const auto value = inputs.environment(variable); value && !value->empty()) {
    return {is_list(option) ? split_paths(*value) : std::vector{*value}, {Source::environment, variable}, {}};
  }
  if (const auto given = file.find(option.key); given != file.end()) return given->second;
  return {{std::string(option.fallback)}, {Source::fallback, "default"}, {}};
}

Result<FileValues> find_file(const Inputs& inputs, const Paths& paths, UnknownKeys unknown) {
  if (inputs.config_file) return read_file(*inputs.config_file, paths, MissingFile::is_an_error, unknown);
  if (const auto path = inputs.environment("CORRAL_CONFIG"); path && !path->empty()) {
    return read_file(paths.expand(*path, {}), paths, MissingFile::is_an_error, unknown);
  }
  return read_file(paths.config_home / "corral/config.toml", paths, MissingFile::is_fine, unknown);
}

Result<> check_bind(const ServeSettings& settings) {
  if (is_loopback(settings.host) || !settings.api_key.empty() || settings.allow_open) return {};
  return fail(errc::unsafe_bind,
              fmt::format("{}: '{}' can be reached from other machines and no key is asked for; set CORRAL_API_KEY, or "
                          "give --allow-open if everybody who reaches it may use it",
                          settings.origins.at("host").where, settings.host),
              "host");
}

}  // namespace

bool is_loopback(std::string host) {
  if (host == "localhost") return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

Result<ServeSettings> load_serve_settings(const Inputs& inputs) {
  const Paths paths = Paths::from(inputs.environment);
  const auto file = find_file(inputs, paths, UnknownKeys::are_errors);
  if (!file) return std::unexpected(file.error());
  ServeSettings settings;
  for (const Option& option : options()) {
    const Given given = find_value(option, inputs, *file);
    if (auto done = assign(option, given, paths, settings); !done) return std::unexpected(done.error());
  }
  settings.ctx_size = std::max(settings.ctx_size, 0);  // -1 is another way to say auto
  if (auto safe = check_bind(settings); !safe) return std::unexpected(safe.error());
  return settings;
}

Result<ClientSettings> load_client_settings(const Inputs& inputs) {
  const Paths paths = Paths::from(inputs.environment);
  const auto file = find_file(inputs, paths, UnknownKeys::are_ignored);
  if (!file) return std::unexpected(file.error());
  ServeSettings settings;
  for (const std::string_view key : {"host", "port", "api_key"}) {
    const Option& option = *find_option(key);
    const Given given = find_value(option, inputs, *file);
    if (auto done = assign(option, given, paths, settings); !done) return std::unexpected(done.error());
  }
  if (settings.host == "0.0.0.0") settings.host = "127.0.0.1";
  if (settings.host == "::" || settings.host == "[::]") settings.host = "::1";
  return ClientSettings{settings.host, settings.port, settings.api_key};
}

}  // namespace corral::config
