// Whether a process does anything, from /proc. Safe on every thread.
#pragma once

#include <cstdint>
#include <filesystem>

#include <sys/types.h>

namespace corral::device {

// CPU time and page faults of all its threads so far, added up: a number without a unit that grows while the process
// computes, fills memory or reads files, and does not change while it only waits. 0: it has ended. One file,
// microseconds. `root` holds proc/; another one for tests.
std::uint64_t process_work(pid_t pid, const std::filesystem::path& root = "/");

}  // namespace corral::device
