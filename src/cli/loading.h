// Loads a model with visible progress: shared by `load` and `run`.
#pragma once

#include "cli/commands/command.h"
#include "cli/server/reply_parser.h"

namespace corral::cli {

// Loads and shows progress until the model is ready. Nothing is shown before the server has accepted the load. Ctrl-C
// cancels the load. Errors: those of ServerApi, and request_failed.
Result<LoadOutcome> load_with_progress(const CommandContext& context, const LoadRequest& options);

// Warns if pinned models occupy all slots of the model's type, so that the load must fail. Prints nothing if the server
// can't be reached: the load itself reports that.
void warn_if_pinned_full(const CommandContext& context, const std::string& model);

// "/api/v1/models/org/repo%3AQ4": characters that are invalid in a path are escaped; slashes stay.
std::string model_path(const std::string& model);

}  // namespace corral::cli
