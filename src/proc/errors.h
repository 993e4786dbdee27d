// Errors of child processes.
#pragma once

#include "base/error.h"

namespace corral::proc {

enum class errc {
  program_not_found = 1,  // no such program (or its interpreter is missing)
  permission_denied,      // the program may not be executed
  bad_working_directory,  // the working directory of the spec isn't one
  spawn_failed,           // another system error: no memory, too many processes, bad arguments
  kernel_too_old,         // no pidfd: Linux before 5.4
  channel_closed,         // the other side of the control channel has ended
  line_too_long,          // a control line over kMaxControlLine
  sandbox_refused,        // the kernel permits no sandbox
};

}  // namespace corral::proc

CORRAL_DECLARE_ERRC(corral::proc);
