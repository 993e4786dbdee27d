// Errors of settings. Each message has the origin of the value and the expected form.
#pragma once

#include "base/error.h"

namespace corral::config {

enum class errc {
  invalid_value = 1,  // a flag, variable or key has an invalid value
  unknown_key,        // the file has a key that no option has
  malformed_file,     // the file isn't TOML
  unreadable_file,    // a requested file can't be read
  unsafe_bind,        // reachable from outside without a key
  fixed_at_start,     // can't be set at run time
  not_saved,          // a file of values or keys can't be written
  no_such_key,        // of clients
  needs_admin_key,    // setting it over HTTP needs an admin key
};

}  // namespace corral::config

CORRAL_DECLARE_ERRC(corral::config);
