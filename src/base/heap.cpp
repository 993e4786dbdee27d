#include "base/heap.h"

#include <cstddef>

#include <malloc.h>

#include "base/jemalloc.h"

namespace corral::heap {

void give_back() {
  if (mallctl != nullptr) {
    // 4096 stands for all arenas (MALLCTL_ARENAS_ALL).
    mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
    mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);
  } else {
    ::malloc_trim(0);
  }
}

}  // namespace corral::heap
