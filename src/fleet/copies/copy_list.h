// The file list of a model on this node's disk, which a copying node gets first (mesh/copy/manifest.h). Runs on a
// thread: if the stepwise hashes of the files aren't known, it reads all of them.
#pragma once

#include <optional>

#include "base/error.h"
#include "fleet/copies/copy_manager.h"
#include "mesh/copy/partial_model.h"

namespace corral::fleet {

struct MadeList {
  mesh::OfferedModelPtr model;  // nullptr: see error
  std::optional<Error> error;   // none: cancelled
};
// Signed by `own`. Stops when `go_on` returns false. Errors: not_offered (the files' content has changed), and those of
// reading.
MadeList make_list(const DiskModel& model, const Sha256& content, const mesh::SigningKey& own, const mesh::GoOn& go_on);

}  // namespace corral::fleet
