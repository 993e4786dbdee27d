// Bringing a model to the server's machine with the user watching: shared by `pull`, `run` and what offers models.
#pragma once

#include <optional>
#include <string>

#include "cli/commands/command.h"
#include "cli/download_wire.h"
#include "config/known_models.h"

namespace corral::cli {

// What is to be fetched, and what it is called in the end.
struct PullTarget {
  std::string name = {};        // as it was typed
  std::string model_name = {};  // for the server
  std::string checkpoint = {};  // for the server, where the model gets a name of its own
  std::string alias = {};       // name of a known model, which the fetched one gets as well; empty: none
};

// A name of the table of known models, or the name as it stands.
PullTarget find_target(const CommandContext& context, const std::string& name);
// Whether it looks like something that can be fetched: an address, org/repo, ollama.com/…
bool names_a_source(std::string_view name);

// The name under which a known model is here: it may have come by its full name alone. Nothing: it is not here.
std::optional<std::string> here_by_full_name(const CommandContext& context, const PullTarget& target);
// What the server says of a name that is neither here nor known, with close known names and the search.
Error no_such_model(const CommandContext& context, const std::string& name, std::string said);

// What a pull would take. Errors: those of ServerApi, and request_failed.
Result<PullPlan> plan_of(const CommandContext& context, const PullTarget& target);
// "2 files, 2.5 GiB to fetch; …", in lines.
std::string plan_text(const PullPlan& plan);

struct Pulled {
  std::string model_name = {};  // as it can be used now
  std::uint64_t bytes = 0;
  bool was_here = false;  // there was nothing to fetch
};
// Fetches it and shows how far it is; `told`: what it takes has been said already. Errors: those of ServerApi, whose
// messages say how to go on; request_failed.
Result<Pulled> pull_with_progress(const CommandContext& context, const PullTarget& target, bool told);

// The table of known models, with the user's own beside the configuration file; says so where that can't be used.
config::KnownModels known_models(const CommandContext& context);

}  // namespace corral::cli
