// Why a backend can't serve a model.
#pragma once

#include "base/error.h"

namespace corral::backends {

enum class errc {
  load_failed = 1,        // the process said no; the message carries its cause
  load_out_of_memory,     // need and have are in Error::memory when known
  load_never_fits,        // more than a device has altogether; need and have are in Error::memory
  load_crashed,           // the process ended while it loaded
  model_file_not_found,   // a file of the model is gone
  backend_not_installed,  // the program of this recipe, or what it is to compute with, isn't on this machine
  invalid_option,         // a load option out of its range; Error::param names it
  backend_died,           // the process ended while it served
  not_saved,              // the file of saved options can't be written
  files_silent,           // the disk with a file of the load gives no answer
  file_unusable,          // the model's own file can't be loaded, however much memory is free
};

}  // namespace corral::backends

CORRAL_DECLARE_ERRC(corral::backends);
