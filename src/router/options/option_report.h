// The saved options of a model and their effect, as ModelRouter::options() returns them. Plain values.
#pragma once

#include <string>

#include "backends/load_options.h"
#include "router/options/model_context.h"
#include "router/options/option_patch.h"

namespace corral::router {

struct OptionReport {
  backends::LoadOptions saved;      // for the model, after the change
  backends::LoadOptions wanted;     // the same; after a dry run the options that would be saved
  backends::LoadOptions defaults;   // the result of a load without options if nothing were saved
  backends::LoadOptions given;      // the options of a load before its backend fills in the rest
  backends::LoadOptions effective;  // the result
  ModelContext window = {};         // of the loaded model; else, or in a dry run with changes, of such a load
  bool pinned = false;
  bool loaded = false;
  bool needs_reload = false;  // it is loaded, and only a new process could have these options
  std::string problem;        // why such a load is refused; empty: it isn't
};

struct OptionChange {
  OptionPatch patch = {};
  bool unset_all = false;       // before the patch is applied
  bool dry_run = false;         // compute the result only
  bool skip_preflight = false;  // in a dry run: known facts only, without a test whether the engine can load it

  // A dry run with changes; without changes it only reports the current state.
  bool supposes() const { return dry_run && (unset_all || patch != OptionPatch()); }
};

}  // namespace corral::router
