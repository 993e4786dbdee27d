// The flags of llama.cpp's own server (llama-server, release 0.5.0) on the command line of `corral serve`. One table
// says of each what it is here: a setting, a flag of llamacpp_args, what requests mean where they say nothing, nothing
// that needs to be said, or refused with the reason. Flags of corral's own pass as they are.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace corral::config {

// The text of a file. Called on the thread that translates.
using FileText = std::function<Result<std::string>(const std::filesystem::path&)>;
Result<std::string> read_text_file(const std::filesystem::path& path);  // of 1 MiB at most

struct ServeArguments {
  std::vector<std::string> words;           // for add_serve_flags()
  std::vector<std::string> without_effect;  // flags that were given and change nothing here
};

// `words`: all behind `serve`. Errors: invalid_value: a flag that nobody knows (with a close one), that has no equal
// (with the reason), or whose value is none.
Result<ServeArguments> translate_server_flags(const std::vector<std::string>& words, const FileText& file);

std::string server_flags_help();  // for --help
std::string server_flags_page();  // a section of docs/configuration.md

}  // namespace corral::config
