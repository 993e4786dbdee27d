// Removes this process's access to resources that it doesn't need, before it reads untrusted bytes: the rest of the
// disk, the network, other processes, new programs, unlimited memory and time. For our own sub-commands, called early
// in main() while one thread runs. It can't be undone.
//
//   open what is needed ──> enter_sandbox() ──> read untrusted bytes ──> _exit()
//
// There are several fences. Each one suffices alone if the kernel supports it, so an attacker must break all of them.
//
//   limits      memory, processor time, open descriptors, no core dump, not traceable, no capabilities    every kernel
//   namespaces  own users, network (empty), messages, host name                       if users may create namespaces
//   root        of the disk only the listed paths are visible                                                     same
//   processes   an own list of processes; only on request                                                         same
//   landlock    only listed paths can be opened; from Linux 6.7 on no TCP, from 6.12 on no signals to others
//   calls       seccomp: only the system calls that its work needs                                        every kernel
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::proc {

// Work of a sandboxed process.
enum class Work : std::uint8_t {
  reading,  // reads and writes open descriptors; memory; opens and starts nothing
  serving,  // also threads, opening listed paths, waiting for several descriptors, Unix sockets
  talking,  // also TCP on the loopback of its own network, and no Unix sockets but open ones
};

struct SandboxOptions {
  Work work = Work::reading;
  // Files and folders, with all their content, which may still be opened (not for `reading`). They must exist. In
  // writable folders plain files may be created and removed, and nothing else.
  std::vector<std::filesystem::path> readable = {};
  std::vector<std::filesystem::path> writable = {};
  std::uint64_t memory = 0;      // bytes of additional address space; 0: no limit
  unsigned cpu_seconds = 0;      // then the kernel kills it; 0: no limit
  unsigned descriptors = 64;     // open at a time
  std::uint64_t file_bytes = 0;  // maximum size of a written file; 0: no limit
  // Maximum of parallel threads, in own namespaces; 0: no limit. Works from Linux 6.14 on if /proc/sys is writable, and
  // from 5.14 on for all users but root: before that the kernel counts those of the whole machine together.
  unsigned threads = 0;
  // An own list of processes: enter_sandbox() then returns in a child of this process. This process becomes its shadow,
  // which waits for the child and ends with it. The child dies with its shadow. SIGTERM to the shadow kills the child:
  // when the shadow has ended after that, all resources of the child are free.
  bool own_processes = false;
};

enum class Fence : std::uint8_t { limits, namespaces, root, processes, landlock, calls };
inline constexpr Fence kFences[] = {Fence::limits,    Fence::namespaces, Fence::root,
                                    Fence::processes, Fence::landlock,   Fence::calls};
std::string_view name_of(Fence fence);

// The fences in effect.
struct Sandboxed {
  struct Missing {
    Fence fence{};
    std::string why;  // the kernel's error, or "not asked for"
  };
  std::vector<Missing> missing;
  bool has(Fence fence) const;
};

// Limits and calls are required; for `talking` namespaces, and a root or Landlock, too. Errors: errc::sandbox_refused,
// with the kernel's error; the process isn't safe then and should end.
Result<Sandboxed> enter_sandbox(const SandboxOptions& options);

}  // namespace corral::proc
