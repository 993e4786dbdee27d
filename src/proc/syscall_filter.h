// The programs of seccomp filters: which system calls a process may still make. Pure; safe on every thread.
//
// What isn't listed fails with EPERM, so that a library that tries goes on without; calls of other architectures end
// the process. Mapped memory is never executable, signals go to the process itself (`self`), threads may be started and
// processes never, and sockets are Unix ones, of who talks IPv4 ones instead. Pairs of sockets are nobody's: one of
// datagrams can be turned to any other that it sees. Folders are made by nobody, nor room on a disk without writing.
#pragma once

#include <vector>

#include <linux/filter.h>
#include <sys/types.h>

#include "proc/sandbox.h"

namespace corral::proc {

std::vector<sock_filter> syscall_filter(Work work, pid_t self);

}  // namespace corral::proc
