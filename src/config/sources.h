// Sources of values, and how they become settings. Pure functions, except read_sources().
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/error.h"
#include "config/files/file.h"
#include "config/load.h"
#include "json/value.h"

namespace corral::config {

// Values that were set at run time: sparse, by key, as JSON values.
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
  MissingFile missing;  // only the default path may be missing
};
ConfigFile config_file(const Inputs& inputs, const Paths& paths);

// The winning value of one option, unchecked. Errors: invalid_value, for a set value that can't have a text of this
// kind.
Result<Given> find_value(const Option& option, const Sources& sources);
// unsafe_bind if other machines can reach the server without a key.
Result<> check_bind(const ServeSettings& settings);
// invalid_value if two settings name the one model.
Result<> check_one_model(const ServeSettings& settings);
// All options. Errors: invalid_value, unsafe_bind.
Result<ServeSettings> resolve(const Sources& sources);

// Reads the configuration file and the set values. Unreadable set values count as none, and `broken` (unless null) gets
// the error. With `broken_file` the same applies to the configuration file, unless it is one that --config names and
// that can't be read. Errors: those of read_file(), invalid_value for a wrong state_dir.
Result<Sources> read_sources(const Inputs& inputs, UnknownKeys unknown, std::optional<Error>* broken = nullptr,
                             std::optional<Error>* broken_file = nullptr);

// The text of a file with set values. Errors: malformed_file.
Result<SetValues> parse_set_values(std::string_view text, const std::string& name);
std::string to_text(const SetValues& values);
// A JSON value as the user's texts; several for a list. Errors: invalid_value.
Result<std::vector<std::string>> texts_of(const Option& option, const json::Value& value, std::string_view where);

}  // namespace corral::config
