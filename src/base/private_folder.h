// Folders in which no other user may create, replace or remove anything: for sockets and keys.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace corral {

// Creates the folder with mode 0700 if it is missing (folders above it as well). An existing one must belong to this
// user and be unwritable for others. The folders above it must belong to this user or root, and be unwritable for
// others or sticky (as /tmp is). Blocks for a few system calls. Errors: system errors; the message has the problem and
// the expected state.
Result<> ensure_private_folder(const std::filesystem::path& folder);

// Creates the folder likewise, or removes the write permission of group and others. Rejects a folder that all users can
// write to and whose mode can't be changed.
Result<> close_to_others(const std::filesystem::path& folder);

}  // namespace corral
