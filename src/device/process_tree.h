// A process with all that belongs to it: its process group and the descendants of these. From /proc; safe on every
// thread. `root` holds proc/; another one for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <sys/types.h>

namespace corral::device {

// One file for each process of the machine: milliseconds. The leader comes first; none: it has gone.
std::vector<pid_t> process_family(pid_t leader, const std::filesystem::path& root = "/");

// Of all of them: the work they have done (process_work.h), and their proportional shares of memory (PSS; where that
// can't be told, what is resident). The latter costs milliseconds for each GiB.
std::uint64_t family_work(pid_t leader, const std::filesystem::path& root = "/");
std::uint64_t family_bytes(pid_t leader, const std::filesystem::path& root = "/");

}  // namespace corral::device
