// Stops children, real and fake ones.
#pragma once

#include "async/timer.h"
#include "proc/child.h"

namespace corral::proc {

// SIGTERM, `grace`, SIGKILL; without grace SIGKILL at once. The child and the timers outlive the task.
async::Task<ExitStatus> stop_gracefully(Child* child, async::Timers* timers, MonoClock::duration grace);

}  // namespace corral::proc
