// Models for somebody who has none: which of the known ones suit the server's machine, and how to have them.
#pragma once

#include <string>

#include "cli/commands/command.h"
#include "cli/pulling.h"

namespace corral::cli {

// Lets the person at the terminal choose one of those that suit the machine, and says what each takes: by the hub's
// answer, or by an estimate where it gives none. Errors: those of ServerApi; usage where nobody can choose, which names
// the commands; interrupted.
Result<std::string> choose_model(const CommandContext& context);

// Fetches a model that isn't here, if that can be done and somebody wants it; `yes`: nobody is asked. Gives the name it
// has now, which is the same one where nothing can be fetched by that name. Errors: those of ServerApi and of pulls;
// request_failed where it isn't wanted, usage where nobody can be asked.
Result<std::string> see_that_it_is_here(const CommandContext& context, const std::string& model, bool yes);

}  // namespace corral::cli
