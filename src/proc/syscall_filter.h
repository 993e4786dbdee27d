// Programs of seccomp filters: the system calls that a process may still make. Pure; safe on every thread.
//
// Other calls fail with EPERM, so that a library that tries one continues without it; calls of other architectures end
// the process. Mapped memory is never executable. Signals go only to the process itself (`self`). Threads may be
// started, processes never. Sockets are Unix sockets, for `talking` IPv4 sockets instead. Pairs of sockets are
// forbidden, because a datagram pair can be redirected to any visible socket. Folders can't be created, nor can disk
// space be reserved without writing.
#pragma once

#include <vector>

#include <linux/filter.h>
#include <sys/types.h>

#include "proc/sandbox.h"

namespace corral::proc {

std::vector<sock_filter> syscall_filter(Work work, pid_t self);

}  // namespace corral::proc
