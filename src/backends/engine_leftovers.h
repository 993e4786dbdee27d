// Shared memory that a killed engine process leaves behind.
#pragma once

#include "proc/leftovers.h"

namespace corral::backends {

// The OpenMP library of llama.cpp's CPU backend marks itself as used in shared memory, under the process's id, and
// removes the mark only at a regular exit. A later process with the same id trusts the mark; a mark of size zero (cut
// off during its creation) ends that process with SIGBUS.
proc::Leftovers engine_leftovers();

}  // namespace corral::backends
