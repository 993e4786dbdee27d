// The operating system's side of a child: its pid, its pidfd, its process group. Owns the process: destroying the
// handle of an unreaped child kills it and waits for it. The child may be the guardian of a program (guardian.h), which
// then gets the signals and gives its status.
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
  // it (kernel_too_old, or spawn_failed: out of descriptors). Removes `leftovers` when it is reaped. `guards`: it is a
  // guardian.
  static Result<ProcessHandle> adopt(pid_t pid, Leftovers leftovers = {}, bool guards = false);
  ProcessHandle(ProcessHandle&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)),
        program_(other.program_),
        guards_(other.guards_),
        pidfd_(std::move(other.pidfd_)),
        leftovers_(std::move(other.leftovers_)) {}
  ProcessHandle& operator=(ProcessHandle&& other) noexcept;
  ~ProcessHandle() { kill_and_reap(); }

  // The program: the child itself, or what it guards once that is known.
  pid_t program() const { return program_; }
  void set_program(pid_t pid) { program_ = pid; }
  int pidfd() const { return pidfd_.get(); }  // readable once the process has ended

  // Sends to the program's group, which it leads; to the program itself as well if it has left its group. SIGKILL of a
  // guarded program ends everything that it has started.
  void send(int signal) const;
  // Whether it has ended. It stays unreaped.
  bool ended() const;
  // Waits for its end, removes its leftovers, frees pid and pidfd. Once.
  ExitStatus reap();

 private:
  ProcessHandle(pid_t pid, UniqueFd pidfd, Leftovers leftovers, bool guards)
      : pid_(pid), program_(pid), guards_(guards), pidfd_(std::move(pidfd)), leftovers_(std::move(leftovers)) {}
  void kill_and_reap();

  pid_t pid_ = 0;  // 0: none, or reaped
  pid_t program_ = 0;
  bool guards_ = false;
  UniqueFd pidfd_;
  Leftovers leftovers_;
};

}  // namespace corral::proc
