// The list of a model on this node's disk, which whoever copies it is given (mesh/copy/manifest.h). For a thread: where
// the hashes of its files aren't known with their steps, all of them are read.
#pragma once

#include <optional>

#include "base/error.h"
#include "fleet/copies/copy_manager.h"
#include "mesh/copy/partial_model.h"

namespace corral::fleet {

struct MadeList {
  mesh::OfferedModelPtr model;  // nullptr: see error
  std::optional<Error> error;   // none: it was given up
};
// Signed by `own`. Gives up when `go_on` says no. Errors: not_offered (the files have another content by now), and
// those of reading.
MadeList make_list(const DiskModel& model, const Sha256& content, const mesh::SigningKey& own, const mesh::GoOn& go_on);

}  // namespace corral::fleet
