// Threads whose work may wait.
#pragma once

#include <unistd.h>

namespace corral {

// Lowers the priority of this thread, for good, and of threads that it starts later. On other systems than Linux:
// nothing, since it would be that of the process.
inline void lower_priority([[maybe_unused]] int by) {
#ifdef __linux__
  [[maybe_unused]] const int now = ::nice(by);
#endif
}

}  // namespace corral
