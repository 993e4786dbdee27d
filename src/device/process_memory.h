// What processes occupy, from /proc. A process that has ended occupies nothing. Safe on every thread.
#pragma once

#include <cstdint>
#include <filesystem>

#include <sys/types.h>

namespace corral::device {

// Bytes.
struct ProcessMemory {
  std::uint64_t resident = 0;  // RSS: pages of mapped files and memory shared with others included
  std::uint64_t own = 0;       // of it what no file backs and nobody shares: gone for all others until it ends

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
// The process's share of what it occupies (PSS): pages that several have mapped count in parts. The kernel walks all
// its pages for that, milliseconds for each GiB; 0 when it can't be told.
std::uint64_t proportional_bytes(pid_t pid, const std::filesystem::path& root = "/");

}  // namespace corral::device
