// Commands that may start a server, which ends with them.
#pragma once

#include <memory>

#include "cli/commands/command.h"

namespace corral::cli {

// Null: a server runs already. Otherwise the handle of one that was started: `start` says so, or the user at the
// terminal agreed. Errors: no_server, with the two ways to start one; interrupted; those of the start.
Result<std::shared_ptr<void>> see_that_a_server_runs(const CommandContext& context, bool start);

}  // namespace corral::cli
