// The flags of llama.cpp's server (llama-server, release 0.5.0) on the command line of `corral serve`. One table maps
// each flag to a setting, a flag of llamacpp_args, a default value of request fields, nothing, or an error with the
// reason. corral's own flags pass unchanged.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace corral::config {

// The text of a file. Called on the thread that translates.
using FileText = std::function<Result<std::string>(const std::filesystem::path&)>;
Result<std::string> read_text_file(const std::filesystem::path& path);  // at most 1 MiB

struct ServeArguments {
  std::vector<std::string> words;           // for add_serve_flags()
  std::vector<std::string> without_effect;  // given flags without effect here
};

// `words`: all words after `serve`. Errors: invalid_value: an unknown flag (with a close one), a flag without an
// equivalent (with the reason), or an invalid value.
Result<ServeArguments> translate_server_flags(const std::vector<std::string>& words, const FileText& file);

std::string server_flags_help();  // for --help
std::string server_flags_page();  // a section of docs/configuration.md

}  // namespace corral::config
