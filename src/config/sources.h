// Where values come from, and how they become settings. Pure functions, but for read_sources().
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/error.h"
#include "config/file.h"
#include "config/load.h"
#include "json/value.h"

namespace corral::config {

// What was set while a server ran: sparse, by key, as JSON values of the kinds that write_value() gives.
using SetValues = std::map<std::string, json::Value, std::less<>>;

struct Sources {
  Inputs inputs;
  Paths paths;
  FileValues file;
  SetValues set;
  bool has_key_file = false;  // in state_dir
};

struct ConfigFile {
  std::filesystem::path path;
  MissingFile missing;  // only the usual place may be empty
};
ConfigFile config_file(const Inputs& inputs, const Paths& paths);

// Of the sources, the winning value of one option, unchecked. Errors: invalid_value, for a set value that no text of
// this kind could be.
Result<Given> find_value(const Option& option, const Sources& sources);
// unsafe_bind where others can reach the server and no key is asked for.
Result<> check_bind(const ServeSettings& settings);
// All options. Errors: invalid_value, unsafe_bind.
Result<ServeSettings> resolve(const Sources& sources);

// Reads the configuration file and the set values. Set values that nobody can make sense of count as none; `broken`,
// unless null, is told of them. Errors: those of read_file(), invalid_value for a wrong state_dir.
Result<Sources> read_sources(const Inputs& inputs, UnknownKeys unknown, std::optional<Error>* broken = nullptr);

// The text of such a file. Errors: malformed_file.
Result<SetValues> parse_set_values(std::string_view text, const std::string& name);
std::string to_text(const SetValues& values);
// A JSON value as the texts a user would write; a list stays one. Errors: invalid_value.
Result<std::vector<std::string>> texts_of(const Option& option, const json::Value& value, std::string_view where);

}  // namespace corral::config
