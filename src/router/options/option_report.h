// What is saved for a model and what follows from it, as ModelRouter::options() tells it. Plain values.
#pragma once

#include <string>

#include "backends/load_options.h"
#include "router/options/model_context.h"
#include "router/options/option_patch.h"

namespace corral::router {

struct OptionReport {
  backends::LoadOptions saved;      // for the model, as the change has left it
  backends::LoadOptions wanted;     // the same; after a dry run what would be saved
  backends::LoadOptions defaults;   // what a load without any would come to if nothing were saved
  backends::LoadOptions given;      // what a load would be told, before its backend fills in what it leaves open
  backends::LoadOptions effective;  // what it comes to
  ModelContext window = {};  // that it has in memory; else, or if another is supposed, what such a load would give
  bool pinned = false;
  bool loaded = false;
  bool needs_reload = false;  // it is loaded, with options that only another process could change to these
  std::string problem;        // why such a load is refused; empty: it isn't
};

struct OptionChange {
  OptionPatch wish = {};
  bool unset_all = false;  // before the wish
  bool dry_run = false;    // only say what would be
  bool only_tell = false;  // of a dry run: what is known, without trying whether the engine can load it

  // A dry run of a change; without one it is only told what there is.
  bool supposes() const { return dry_run && (unset_all || wish != OptionPatch()); }
};

}  // namespace corral::router
