#include "proc/syscall_filter.h"

#include <cerrno>
#include <cstddef>
#include <span>

#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace corral::proc {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "an architecture whose system calls aren't known here"
#endif

constexpr int kReading[] = {
    // Open descriptors.
    SYS_read,
    SYS_pread64,
    SYS_readv,
    SYS_write,
    SYS_writev,
    SYS_lseek,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_fadvise64,
    // Memory; mmap is checked further below.
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    // Locks, time, signals to itself, the end.
    SYS_futex,
    SYS_sched_yield,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
    // A pipe to itself is harmless, and sanitizers use it to check whether memory is readable.
    SYS_pipe2,
    // Facts about the process itself.
    SYS_getpid,
    SYS_gettid,
    SYS_getrandom,
    SYS_sched_getaffinity,
    SYS_getcpu,
#if defined(__x86_64__)
    SYS_time,
    SYS_getpgrp,
#endif
};

constexpr int kServing[] = {
    SYS_openat,
    SYS_pwrite64,
    SYS_ftruncate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_getdents64,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_statx,
    SYS_getcwd,
    SYS_fcntl,
    SYS_dup,
    SYS_dup3,
    SYS_eventfd2,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_ppoll,
    SYS_pselect6,
    SYS_ioctl,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_connect,
    SYS_shutdown,
    SYS_sendto,
    SYS_sendmsg,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_getsockname,
    SYS_getpeername,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_sched_setaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_getrusage,
    SYS_sysinfo,
    SYS_uname,
    SYS_mlock,
    SYS_munlock,
    SYS_membarrier,
    SYS_set_tid_address,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
#if defined(__x86_64__)
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_poll,
    SYS_select,
    SYS_epoll_wait,
    SYS_unlink,
    SYS_rename,
    SYS_readlink,
    SYS_pipe,
    SYS_dup2,
#endif
};

constexpr std::uint32_t offset_of_argument(unsigned number) {
  return offsetof(seccomp_data, args) + number * sizeof(std::uint64_t);  // the lower half
}

class Program {
 public:
  void load(std::uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  void answer(std::uint32_t what) { add(BPF_RET | BPF_K, what); }
  void refuse(int cause) { answer(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(cause)); }
  // The next `skip` instructions apply only if the test is true.
  void only_if(std::uint16_t test, std::uint32_t value, std::uint8_t skip) {
    add(BPF_JMP | test | BPF_K, value, 0, skip);
  }
  void only_if_not(std::uint16_t test, std::uint32_t value, std::uint8_t skip) {
    add(BPF_JMP | test | BPF_K, value, skip, 0);
  }
  void allow(std::span<const int> calls) {
    for (const int call : calls) {
      only_if(BPF_JEQ, static_cast<std::uint32_t>(call), 1);
      answer(SECCOMP_RET_ALLOW);
    }
  }
  // Allows the call if `test` of an argument is `wanted`; else rejects it.
  void allow_when(int call, unsigned argument, std::uint16_t test, std::uint32_t value, bool wanted) {
    only_if(BPF_JEQ, static_cast<std::uint32_t>(call), 4);
    load(offset_of_argument(argument));
    wanted ? only_if(test, value, 1) : only_if_not(test, value, 1);
    answer(SECCOMP_RET_ALLOW);
    refuse(EPERM);
  }
  std::vector<sock_filter> take() { return std::move(code_); }

 private:
  void add(unsigned code, std::uint32_t value, std::uint8_t if_true = 0, std::uint8_t if_false = 0) {
    code_.push_back({static_cast<std::uint16_t>(code), if_true, if_false, value});
  }
  std::vector<sock_filter> code_;
};

}  // namespace

std::vector<sock_filter> syscall_filter(Work work, pid_t self) {
  Program program;
  program.load(offsetof(seccomp_data, arch));
  program.only_if_not(BPF_JEQ, kArchitecture, 1);
  program.answer(SECCOMP_RET_KILL_PROCESS);
  program.load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  constexpr std::uint32_t kOther = 0x40000000;  // x32: the same calls by other numbers
  program.only_if(BPF_JGE, kOther, 1);
  program.answer(SECCOMP_RET_KILL_PROCESS);
#endif
  program.allow_when(SYS_mmap, 2, BPF_JSET, PROT_EXEC, false);
  program.allow_when(SYS_mprotect, 2, BPF_JSET, PROT_EXEC, false);
  program.allow_when(SYS_tgkill, 0, BPF_JEQ, static_cast<std::uint32_t>(self), true);  // abort()
  program.allow(kReading);
  if (work != Work::reading) {
    program.allow_when(SYS_clone, 0, BPF_JSET, CLONE_THREAD, true);
    // With Unix sockets, `talking` could reach all sockets on the visible disk.
    program.allow_when(SYS_socket, 0, BPF_JEQ, work == Work::talking ? AF_INET : AF_UNIX, true);
    program.allow(kServing);
    // Its flags can't be checked; without it the C library uses clone.
    program.only_if(BPF_JEQ, SYS_clone3, 1);
    program.refuse(ENOSYS);
  }
  program.refuse(EPERM);
  return program.take();
}

}  // namespace corral::proc
