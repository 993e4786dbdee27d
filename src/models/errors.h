// Error codes of this folder. A message names the file or model and what to do.
#pragma once

#include "base/error.h"

namespace corral::models {

enum class errc {
  file_not_found = 1,   // no such file or directory
  unreadable,           // it is there, but can't be opened or read (permission, I/O error, not a regular file)
  not_gguf,             // the file doesn't begin with the GGUF magic
  truncated,            // the file ends before what its header announces: a download that broke off
  unsupported_version,  // a GGUF version other than 2 or 3, or of the other byte order
  malformed,            // the header contradicts itself or breaks a limit
  missing_shard,        // a split set without all of its files
  not_a_model,          // a sound GGUF that can't be loaded on its own: adapter, projector, draft model, vocabulary
  limit_reached,        // a directory tree too deep or too full to be scanned to its end
  model_not_found,      // no model of that name; the message names close ones
  name_in_use,          // by another file
};

}  // namespace corral::models

CORRAL_DECLARE_ERRC(corral::models);
