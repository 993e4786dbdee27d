// The allocation: the parts of `corral mesh` that show and change it.
#pragma once

#include <string>

#include "cli/commands/command.h"

namespace corral::cli {

// The plan of the whole mesh, or of one model.
Result<int> show_plan(const std::string& model, CommandContext& context);
// `model` may be the words "nothing" and "auto".
Result<int> assign_model(const std::string& node, const std::string& model, CommandContext& context);
Result<int> unload_everywhere(const std::string& model, CommandContext& context);

}  // namespace corral::cli
