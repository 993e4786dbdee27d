// What can be wrong with settings. The message of each error names where the value came from and what is right.
#pragma once

#include "base/error.h"

namespace corral::config {

enum class errc {
  invalid_value = 1,  // a flag, variable or key has a value that can't be used
  unknown_key,        // the file has a key that no option has
  malformed_file,     // the file isn't TOML
  unreadable_file,    // the file was asked for and can't be read
  unsafe_bind,        // reachable from outside, and nothing asks for a key
  fixed_at_start,     // can't be set at run time
  not_saved,          // a file of values or keys can't be written
  no_such_key,        // of clients
  needs_admin_key,    // not to be set over HTTP by just anybody
};

}  // namespace corral::config

CORRAL_DECLARE_ERRC(corral::config);
