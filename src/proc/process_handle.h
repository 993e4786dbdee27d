// The operating system's side of a child: its pid, its pidfd, its process group. Owns the process: destroying the
// handle of an unreaped child kills it and waits for it.
//
// The pid and group id of an unreaped child can't be reused, so signals never reach another process.
#pragma once

#include <optional>
#include <utility>

#include <sys/types.h>

#include "base/error.h"
#include "base/unique_fd.h"
#include "proc/exit_status.h"
#include "proc/leftovers.h"

namespace corral::proc {

class ProcessHandle {
 public:
  ProcessHandle() = default;
  // Takes over a direct, unreaped child that leads its own process group. Kills it and fails if the kernel can't watch
  // it (kernel_too_old, or spawn_failed: out of descriptors). Removes `leftovers` when it is reaped.
  static Result<ProcessHandle> adopt(pid_t pid, Leftovers leftovers = {});
  ProcessHandle(ProcessHandle&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), pidfd_(std::move(other.pidfd_)), leftovers_(std::move(other.leftovers_)) {}
  ProcessHandle& operator=(ProcessHandle&& other) noexcept;
  ~ProcessHandle() { kill_and_reap(); }

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }  // readable once the process has ended

  // Sends to the group, which the child leads; to the child itself as well if it has left its group.
  void send(int signal) const;
  // Whether it has ended. It stays unreaped.
  bool ended() const;
  // Waits for its end, removes its leftovers, frees pid and pidfd. Once.
  ExitStatus reap();

 private:
  ProcessHandle(pid_t pid, UniqueFd pidfd, Leftovers leftovers)
      : pid_(pid), pidfd_(std::move(pidfd)), leftovers_(std::move(leftovers)) {}
  void kill_and_reap();

  pid_t pid_ = 0;  // 0: none, or reaped
  UniqueFd pidfd_;
  Leftovers leftovers_;
};

}  // namespace corral::proc
