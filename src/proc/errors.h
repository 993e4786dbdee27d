// What can go wrong with child processes, as causes that a caller tells apart.
#pragma once

#include "base/error.h"

namespace corral::proc {

enum class errc {
  program_not_found = 1,  // no such program (or its interpreter is missing)
  permission_denied,      // the program may not be executed
  bad_working_directory,  // the working directory of the spec isn't one
  spawn_failed,           // the system refused for another reason: no memory, too many processes, bad arguments
  kernel_too_old,         // no pidfd: Linux before 5.4
  channel_closed,         // the other side of the control channel is gone
  line_too_long,          // a control line over kMaxControlLine
  sandbox_refused,        // the kernel doesn't let a process be locked in
};

}  // namespace corral::proc

CORRAL_DECLARE_ERRC(corral::proc);
