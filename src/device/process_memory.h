// Memory of processes, from /proc. A process that has ended uses none. Safe on every thread.
#pragma once

#include <cstdint>
#include <filesystem>

#include <sys/types.h>

namespace corral::device {

// Bytes.
struct ProcessMemory {
  std::uint64_t resident = 0;  // RSS: pages of mapped files and memory shared with others included
  std::uint64_t own = 0;       // of this, anonymous and not shared: not available to others until the process ends

  ProcessMemory& operator+=(const ProcessMemory& other) {
    resident += other.resident;
    own += other.own;
    return *this;
  }
};

// One file, microseconds. `root` holds proc/; another one for tests.
ProcessMemory process_memory(pid_t pid, const std::filesystem::path& root = "/");
// The process and its descendants. One file for each of their threads.
ProcessMemory tree_memory(pid_t pid, const std::filesystem::path& root = "/");
// The first process that its first thread has started; 0: none. One file, microseconds.
pid_t first_child(pid_t pid, const std::filesystem::path& root = "/");
// Proportional set size (PSS): pages that several processes map count in parts. The kernel walks all pages, which takes
// milliseconds per GiB; 0 if it can't be read.
std::uint64_t proportional_bytes(pid_t pid, const std::filesystem::path& root = "/");

}  // namespace corral::device
