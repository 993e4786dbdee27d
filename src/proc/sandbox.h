// Takes from this process what it doesn't need before it looks at bytes that strangers made: the rest of the disk, the
// network, other processes, new programs, memory and time without end. For our own sub-commands, called early in main()
// while one thread runs. There is no way back.
//
//   open what is needed ──> enter_sandbox() ──> read what strangers sent ──> _exit()
//
// Several fences, of which each would do by itself where it holds: who breaks one stands before the next.
//
//   limits      memory, processor time, open descriptors, no core dump, not traceable, no capabilities    every kernel
//   namespaces  own users, network (nothing in it), messages, host name                     where users may make them
//   root        an empty folder, with what is named, is all there is of the disk                                  same
//   processes   an own list of processes; asked for only                                                          same
//   landlock    nothing is opened but what is named; from Linux 6.7 on no TCP, from 6.12 on no signals to others
//   calls       seccomp: only the system calls that its work needs                                        every kernel
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::proc {

// What a sandboxed process still does.
enum class Work : std::uint8_t {
  reading,  // of descriptors that are open, and writing to them; memory; nothing is opened or started
  serving,  // also threads, opening what is named, waiting for several descriptors, Unix sockets
  talking,  // also TCP on the loopback of a network of its own, and no Unix sockets but those that are open
};

struct SandboxOptions {
  Work work = Work::reading;
  // Files and folders with all that is in them, which may still be opened (not for `reading`). They must be there. In
  // folders that are writable plain files may be made and removed, and nothing else.
  std::vector<std::filesystem::path> readable = {};
  std::vector<std::filesystem::path> writable = {};
  std::uint64_t memory = 0;      // bytes of address space besides what it has; 0: no bound
  unsigned cpu_seconds = 0;      // then the kernel kills it; 0: no bound
  unsigned descriptors = 64;     // open at a time
  std::uint64_t file_bytes = 0;  // that it may write a file to; 0: no bound
  // At a time, in namespaces of its own; 0: no bound. Holds from Linux 6.14 on where /proc/sys can be written to, and
  // from 5.14 on for all users but root: before that the kernel counts those of the whole machine together.
  unsigned threads = 0;
  // An own list of processes: enter_sandbox() then returns in a child of this process, its shadow, which waits for it,
  // and ends as it ends and not before. The child dies with its shadow. SIGTERM to the shadow ends the child by force:
  // when the shadow is gone after that, so is all that the child had.
  bool own_processes = false;
};

enum class Fence : std::uint8_t { limits, namespaces, root, processes, landlock, calls };
inline constexpr Fence kFences[] = {Fence::limits,    Fence::namespaces, Fence::root,
                                    Fence::processes, Fence::landlock,   Fence::calls};
std::string_view name_of(Fence fence);

// Which fences stand.
struct Sandboxed {
  struct Missing {
    Fence fence{};
    std::string why;  // as the kernel said it; "not asked for"
  };
  std::vector<Missing> missing;
  bool has(Fence fence) const;
};

// Limits and calls are what it can't do without; who talks, namespaces, and a root or Landlock, too. Errors:
// errc::sandbox_refused, which says what the kernel refused; the process isn't safe then and should end.
Result<Sandboxed> enter_sandbox(const SandboxOptions& options);

}  // namespace corral::proc
