// Error codes of backends.
#pragma once

#include "base/error.h"

namespace corral::backends {

enum class errc {
  load_failed = 1,        // the process reported a failure; the message has its cause
  load_out_of_memory,     // need and have are in Error::memory if known
  load_never_fits,        // more than a device has in total; need and have are in Error::memory
  load_crashed,           // the process ended while it loaded
  model_file_not_found,   // a file of the model is gone
  backend_not_installed,  // the program of this recipe, or its compute backend, is missing
  invalid_option,         // a load option is out of range; Error::param names it
  backend_died,           // the process ended while it served
  not_saved,              // the file of saved options can't be written
  files_silent,           // the disk with a file of the load does not respond
  file_unusable,          // the model's own file can't be loaded, even with enough memory
};

}  // namespace corral::backends

CORRAL_DECLARE_ERRC(corral::backends);
