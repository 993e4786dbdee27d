// Shows a model: shared by `show` and chats.
#pragma once

#include <string>

#include "cli/commands/command.h"

namespace corral::cli {

// `with_template`: prints only its chat template. Errors: those of ServerApi, and request_failed.
Result<int> show_model(const std::string& name, bool with_template, CommandContext& context);

}  // namespace corral::cli
