// Loading a model with the user watching: shared by `load` and `run`.
#pragma once

#include "cli/commands/command.h"
#include "cli/reply_parser.h"

namespace corral::cli {

// Loads and shows progress until the model is ready. Errors: those of ServerApi, and request_failed.
Result<LoadOutcome> load_with_progress(const CommandContext& context, const LoadRequest& options);

// Warns when every slot of the model's type is taken by a pinned model, so that the load is bound to fail. Says nothing
// when the server can't be asked: the load itself will tell.
void warn_if_pinned_full(const CommandContext& context, const std::string& model);

// "/api/v1/models/org/repo%3AQ4": what can't stand in a path is escaped; slashes stay.
std::string model_path(const std::string& model);

}  // namespace corral::cli
