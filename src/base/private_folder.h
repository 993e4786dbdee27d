// Folders in which nobody else may put, replace or remove anything: for sockets and keys.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace corral {

// Makes the folder with mode 0700 if it isn't there (folders above it as well). One that is there must be this user's,
// and nobody else may write to it; the folders above it must be this user's or root's, and be closed to others or
// sticky (as /tmp is). Blocks for a few system calls. Errors: the system's own; the message says what is wrong and what
// would be right.
Result<> ensure_private_folder(const std::filesystem::path& folder);

// Makes the folder likewise, or removes the write permission of group and others. Refuses a folder that all others can
// write to and whose mode can't be changed.
Result<> close_to_others(const std::filesystem::path& folder);

}  // namespace corral
