// What an engine child that is killed leaves in the system.
#pragma once

#include "proc/leftovers.h"

namespace corral::backends {

// The OpenMP library of llama.cpp's CPU backend notes in shared memory, under the process's id, that it is in use, and
// takes the note away in an orderly end only. A later process of the same id believes the note: one that was cut off
// while it was written (its size is zero) ends that process with SIGBUS.
proc::Leftovers engine_leftovers();

}  // namespace corral::backends
