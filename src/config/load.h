// Merges the settings: flag over environment over set value over file over default.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/serve_settings.h"

namespace corral::config {

// The value of an environment variable. Empty counts as unset.
using Environment = std::function<std::optional<std::string>(std::string_view)>;
Environment process_environment();

// The flags of the command line, as text, by key; several texts for options that repeat.
using FlagValues = std::map<std::string, std::vector<std::string>, std::less<>>;

struct Inputs {
  FlagValues flags;
  Environment environment;
  // --config; else CORRAL_CONFIG; else ${XDG_CONFIG_HOME:-~/.config}/corral/config.toml, which may be missing.
  std::optional<std::filesystem::path> config_file;
  // Of the system's service: commands of users without a server of their own ask that one. Empty, missing or
  // unreadable: none.
  std::filesystem::path service_file = {};
};

// Errors: every code of errc; one sentence with the source, the key, the value and the expected form.
Result<ServeSettings> load_serve_settings(const Inputs& inputs);
// The address for clients on this machine of a server that listens at `host`, which may mean all addresses.
std::string local_host(std::string host);

// host, port and api_key of the same sources, so that a command finds the same user's server. Unless a flag or a
// variable has host or port, they are those of the running server, which may have started before they were changed. If
// no server of this user runs and no source names an address, it is that of the system's service. An address for every
// interface becomes loopback. An invalid configuration file counts as empty, and an invalid value in it as none.
// Errors: those of load_serve_settings() for all other sources; unreadable_file if --config names a missing file.
Result<ClientSettings> load_client_settings(const Inputs& inputs);
// The state_dir of a server of this user with the same flags. An invalid configuration file is no error if a flag or a
// variable has state_dir.
Result<std::filesystem::path> find_state_dir(const Inputs& inputs);

}  // namespace corral::config
