// Suggests models to users without any: known models that suit the server's machine, and how to get them.
#pragma once

#include <string>

#include "cli/commands/command.h"
#include "cli/pulling.h"

namespace corral::cli {

// Lets the user at the terminal choose a model that suits the machine, with its size from the hub, or else an estimate.
// Errors: those of ServerApi; usage without a terminal, which names the commands; interrupted.
Result<std::string> choose_model(const CommandContext& context);

// Downloads a missing model, if possible and confirmed by the user; `yes`: without a question. Returns the name that it
// has now; the same name if there is no download of that name. Errors: those of ServerApi and of pulls; request_failed
// if the user declines, usage without a terminal.
Result<std::string> see_that_it_is_here(const CommandContext& context, const std::string& model, bool yes);

}  // namespace corral::cli
