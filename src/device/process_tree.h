// A process family: a process, its process group, and their descendants. From /proc; safe on every thread. `root` holds
// proc/; another one for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <sys/types.h>

namespace corral::device {

// Reads one file per process of the machine: milliseconds. The leader comes first; empty: it has ended.
std::vector<pid_t> process_family(pid_t leader, const std::filesystem::path& root = "/");

// Sums over the family: work (process_work.h), and proportional memory (PSS; resident if that can't be read). The
// latter takes milliseconds per GiB.
std::uint64_t family_work(pid_t leader, const std::filesystem::path& root = "/");
std::uint64_t family_bytes(pid_t leader, const std::filesystem::path& root = "/");

}  // namespace corral::device
