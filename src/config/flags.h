// The table of options as flags of a command line.
#pragma once

#include <string_view>
#include <vector>

#include "config/load.h"

namespace CLI {
class App;
}

namespace corral::config {

// Adds --config and one flag for each option. Stores values in `inputs`, which must outlive the parsing.
void add_serve_flags(CLI::App& app, Inputs& inputs);
// Adds --config, --host, --port and --api-key, with help texts for clients of a server.
void add_client_flags(CLI::App& app, Inputs& inputs);
// Adds --config and --state-dir, for commands that use the files of a server.
void add_file_flags(CLI::App& app, Inputs& inputs);

}  // namespace corral::config
