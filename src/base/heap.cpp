#include "base/heap.h"

#include <cstddef>

#include <malloc.h>

// jemalloc's, if it is linked.
extern "C" __attribute__((weak)) int mallctl(const char* name, void* old_value, std::size_t* old_size, void* new_value,
                                             std::size_t new_size);

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
