// The allocator behind new and malloc: the program has jemalloc, most tests and the sanitizers have the C
// library's own.
#pragma once

namespace corral::heap {

// Returns freed memory to the system now. Takes milliseconds for each gigabyte; on any thread.
void give_back();

}  // namespace corral::heap
