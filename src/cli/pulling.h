// Downloads a model to the server's machine with visible progress: shared by `pull`, `run` and offers of models.
#pragma once

#include <optional>
#include <string>

#include "cli/commands/command.h"
#include "cli/server/download_wire.h"
#include "config/files/known_models.h"

namespace corral::cli {

// The source of a download, and the resulting names.
struct PullTarget {
  std::string name = {};        // as typed
  std::string model_name = {};  // for the server
  std::string checkpoint = {};  // for the server, if the model gets its own name
  // short name of a known model, which becomes an alias of the downloaded one; empty: none
  std::string alias = {};
  bool no_mmproj = false;  // without the model's projector
};

// From the table of known models, or the name unchanged.
PullTarget find_target(const CommandContext& context, const std::string& name);
// Whether the name looks like a source: an address, org/repo, ollama.com/…
bool names_a_source(std::string_view name);

// The local name of a known model, which may have been downloaded by its full name. Nothing: it isn't on this disk.
std::optional<std::string> here_by_full_name(const CommandContext& context, const PullTarget& target);
// The error for a name that is neither local nor known, with close known names and the search.
Error no_such_model(const CommandContext& context, const std::string& name, std::string message);

// The plan of a pull. Errors: those of ServerApi, and request_failed.
Result<PullPlan> plan_of(const CommandContext& context, const PullTarget& target);
// "2 files, 2.5 GiB to fetch; …", in lines.
std::string plan_text(const PullPlan& plan);

struct Pulled {
  std::string model_name = {};  // as it can be used now
  std::uint64_t bytes = 0;
  bool was_here = false;  // no download was needed
};
// Downloads it and shows the progress; true: the plan has already been shown. Errors: those of ServerApi, whose
// messages contain the command to resume; request_failed.
Result<Pulled> pull_with_progress(const CommandContext& context, const PullTarget& target, bool printed);

// The table of known models, with the user's own next to the configuration file; prints a warning if the user's file is
// invalid.
config::KnownModels known_models(const CommandContext& context);

}  // namespace corral::cli
