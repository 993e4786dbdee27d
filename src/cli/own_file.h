// Changes settings of a server of the same user on this machine in its configuration file. This needs no key: a user
// that may write the file owns the server. The server reads the file again at once.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands/command.h"

namespace corral::cli {

// Whether the server is reached over loopback.
bool is_on_this_machine(const ServerApi& api);

// The answer of GET /internal/config. Errors: those of fetch().
Result<Settings> settings_now(CommandContext& context);

// Writes `key` into the file, then waits up to two seconds until the server takes the value. `now`: of settings_now().
// The path of the file comes from this command line: a path that only the server names is never written. Errors:
// request_failed if the server is not on loopback, uses another file, has the value from a source of higher precedence,
// or does not take it; those of config::write_setting().
Result<> set_in_own_file(CommandContext& context, const Settings& now, std::string_view key, const std::string& value);

// The same over HTTP, or in the file if that needs a key that this command doesn't have. Returns the server's answer,
// or
// {"status":"success",KEY:VALUE}. Errors: those of fetch(), and those of set_in_own_file(), with `hint` at their end.
Result<std::string> set_guarded(CommandContext& context, const Settings& now, std::string_view key,
                                const std::string& value, std::string_view hint = {});

}  // namespace corral::cli
