// Settings of a server that runs on this machine for the same user, changed in its configuration file. Such a file
// needs no key: a user that may write it owns the server. The server reads the file again at once.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands/command.h"

namespace corral::cli {

// What GET /internal/config says. Errors: those of fetch().
Result<Settings> settings_now(CommandContext& context);

// Writes `key` into the file, then waits up to two seconds until the server takes the value. `now`: of settings_now().
// The file is the one that this command line finds by itself: a path that only the server names is never written.
// Errors: request_failed if the server is not on loopback, uses another file, has the value from a stronger source, or
// does not take it; those of config::write_setting().
Result<> set_in_own_file(CommandContext& context, const Settings& now, std::string_view key, const std::string& value);

}  // namespace corral::cli
