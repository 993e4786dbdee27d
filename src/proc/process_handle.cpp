#include "proc/process_handle.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "proc/errors.h"
#include "proc/guardian.h"

namespace corral::proc {
namespace {

// <sys/pidfd.h> of glibc 2.36 can't be used from C++ (it lacks extern "C"), and its idtype_t may lack P_PIDFD.
constexpr auto kPidfd = static_cast<idtype_t>(3);

int pidfd_open(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

bool wait_for(int pidfd, int options, siginfo_t& info) {
  for (;;) {
    info = {};
    if (::waitid(kPidfd, static_cast<id_t>(pidfd), &info, options) == 0) return true;
    if (errno == EAGAIN) {  // the event loop has made the pidfd non-blocking, and waitid heeds that
      pollfd poll = {pidfd, POLLIN, 0};
      ::poll(&poll, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
}

}  // namespace

Result<ProcessHandle> ProcessHandle::adopt(pid_t pid, Leftovers leftovers, bool guards) {
  UniqueFd pidfd(pidfd_open(pid));
  if (pidfd) return ProcessHandle(pid, std::move(pidfd), std::move(leftovers), guards);
  const int cause = errno;
  ::kill(-pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  if (cause == ENOSYS) return fail(errc::kernel_too_old, "watching child processes needs Linux 5.4 or newer (pidfd)");
  return fail(errc::spawn_failed, fmt::format("cannot watch a new child process: {}", std::strerror(cause)));
}

ProcessHandle& ProcessHandle::operator=(ProcessHandle&& other) noexcept {
  if (this != &other) {
    kill_and_reap();
    pid_ = std::exchange(other.pid_, 0);
    program_ = other.program_;
    guards_ = other.guards_;
    pidfd_ = std::move(other.pidfd_);
    leftovers_ = std::move(other.leftovers_);
  }
  return *this;
}

void ProcessHandle::send(int signal) const {
  if (pid_ == 0) return;
  if (guards_) {
    ::kill(pid_, signal == SIGKILL ? end_signal() : signal);
    if (signal == SIGKILL) ::kill(pid_, SIGCONT);  // a stopped guardian gets no other signal
    return;
  }
  ::kill(-pid_, signal);
  if (::getpgid(pid_) != pid_) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

bool ProcessHandle::ended() const {
  if (pid_ == 0) return true;
  siginfo_t info;
  // ECHILD: other code reaped it, so it has ended.
  return !wait_for(pidfd_.get(), WEXITED | WNOHANG | WNOWAIT, info) || info.si_pid != 0;
}

ExitStatus ProcessHandle::reap() {
  siginfo_t info;
  // Files that are named after its pid belong to no other process before it is reaped.
  if (pid_ != 0 && !leftovers_.empty() && wait_for(pidfd_.get(), WEXITED | WNOWAIT, info))
    remove_leftovers(leftovers_, program_);
  const bool known = pid_ != 0 && wait_for(pidfd_.get(), WEXITED, info);
  pid_ = 0;
  pidfd_.reset();
  if (!known) return {};
  return info.si_code == CLD_EXITED ? ExitStatus::exited(info.si_status) : ExitStatus::killed(info.si_status);
}

void ProcessHandle::kill_and_reap() {
  if (pid_ == 0) return;
  send(SIGKILL);
  reap();
}

}  // namespace corral::proc
