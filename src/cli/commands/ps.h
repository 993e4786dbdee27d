// The table of models in memory, shared by `ps` and `top`.
#pragma once

#include "base/clock.h"
#include "cli/server/reply_parser.h"
#include "cli/terminal/terminal.h"

namespace corral::cli {

// Without a model it is one line on standard error.
void print_health(const Terminal& terminal, const Clock& clock, const Health& health);

}  // namespace corral::cli
