#include "proc/sandbox.h"

#include <algorithm>
#include <cerrno>
#include <compare>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "proc/errors.h"
#include "proc/syscall_filter.h"

namespace corral::proc {
namespace {

namespace fs = std::filesystem;

// An error text. Empty: success.
using Trouble = std::string;

Trouble trouble(std::string_view what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

Trouble write_text(const char* file, std::string_view text) {
  const UniqueFd fd(::open(file, O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return trouble(file);
  return {};
}

struct Kernel {
  int first = 0, second = 0;
  auto operator<=>(const Kernel&) const = default;
};
Kernel running_kernel() {
  utsname name{};
  Kernel kernel;
  if (::uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &kernel.first, &kernel.second) != 2) return {};
  return kernel;
}

std::size_t count_threads() {
  std::error_code ignored;
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/task", ignored), {}));
}

// ---- limits

Trouble limit(__rlimit_resource_t what, const char* name, rlim_t value) {
  rlimit now{};
  if (::getrlimit(what, &now) != 0) return trouble(name);
  now.rlim_cur = std::min(now.rlim_max, value);
  // The soft limit of processor time makes the cause visible.
  now.rlim_max = std::min(now.rlim_max, what == RLIMIT_CPU ? value + 1 : value);
  if (::setrlimit(what, &now) != 0) return trouble(name);
  return {};
}

rlim_t address_space() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

Trouble set_limits(const SandboxOptions& options) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return trouble("no new privileges");
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  struct Row {
    __rlimit_resource_t what;
    const char* name;
    rlim_t value;
    bool wanted;
  };
  for (const Row& row : {Row{RLIMIT_CORE, "limit of core dumps", 0, true},
                         Row{RLIMIT_NOFILE, "limit of descriptors", options.descriptors, true},
                         Row{RLIMIT_CPU, "limit of processor time", options.cpu_seconds, options.cpu_seconds > 0},
                         Row{RLIMIT_FSIZE, "limit of files", options.file_bytes, options.file_bytes > 0},
                         Row{RLIMIT_AS, "limit of memory", address_space() + options.memory, options.memory > 0}}) {
    if (!row.wanted) continue;
    if (auto failed = limit(row.what, row.name, row.value); !failed.empty()) return failed;
  }
  return {};
}

// In own namespaces, before the root is empty. Each limit suffices alone; older kernels have neither.
Trouble limit_threads(unsigned max) {
  const auto kernel = running_kernel();
  // Each user namespace counts the threads of a user separately; root's are unlimited.
  constexpr Kernel kCountsApart{5, 14};
  if (kernel >= kCountsApart)
    if (auto failed = limit(RLIMIT_NPROC, "limit of threads", max); !failed.empty()) return failed;
  // Each list of processes has its own maximum number. Before that there was one for the whole machine.
  constexpr Kernel kNumbersApart{6, 14};
  constexpr unsigned kReserved = 300;  // numbers that aren't reused
  if (kernel >= kNumbersApart && ::getpid() == 1)
    write_text("/proc/sys/kernel/pid_max", fmt::format("{}", kReserved + max));  // may be read-only in a container
  return {};
}

// ---- namespaces

Trouble own_namespaces(bool own_processes, std::size_t threads) {
  if (threads > 1) return fmt::format("{} threads run already", threads);
  const auto user = ::getuid(), group = ::getgid();
  // The user namespace first, alone: if the system permits its creation but no use of it, the others aren't created in
  // part.
  if (::unshare(CLONE_NEWUSER) != 0) return trouble("own users (sysctl user.max_user_namespaces may be 0)");
  if (auto failed = write_text("/proc/self/setgroups", "deny"); !failed.empty()) return failed;
  if (auto failed = write_text("/proc/self/uid_map", fmt::format("{0} {0} 1", user)); !failed.empty()) return failed;
  if (auto failed = write_text("/proc/self/gid_map", fmt::format("{0} {0} 1", group)); !failed.empty()) return failed;
  const int others = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS;
  if (::unshare(others | (own_processes ? CLONE_NEWPID : 0)) != 0) return trouble("own namespaces");
  return {};
}

// The loopback of a new network is down.
Trouble raise_loopback() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (!socket || ::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return trouble("a loopback of its own");
  return {};
}

constexpr const char* kNewRoot = "/proc";  // a folder that exists everywhere, and that isn't needed in the sandbox

// The same file or folder, at the same path below the new root.
Trouble keep(const fs::path& path) {
  std::error_code failed;
  const auto place = fs::path(kNewRoot) / fs::absolute(path, failed).relative_path();
  if (fs::is_directory(path, failed)) {
    fs::create_directories(place, failed);
  } else {
    fs::create_directories(place.parent_path(), failed);
    const UniqueFd file(::open(place.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0400));
  }
  if (::mount(path.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) return trouble(path.native());
  return {};
}

// A root that contains only the listed paths.
Trouble bare_root(const SandboxOptions& options) {
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return trouble("mounts of its own");
  const unsigned long flags = MS_NODEV | MS_NOEXEC | MS_NOSUID;
  if (::mount("none", kNewRoot, "tmpfs", flags, "size=1m,mode=755") != 0) return trouble("an empty folder");
  for (const auto* paths : {&options.readable, &options.writable})
    for (const auto& path : *paths)
      if (auto failed = keep(path); !failed.empty()) return failed;
  if (::mount("none", kNewRoot, nullptr, MS_REMOUNT | MS_RDONLY | flags, nullptr) != 0)
    return trouble("a read-only empty folder");
  if (::chdir(kNewRoot) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0) return trouble("an empty root");
  if (::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) return trouble("leaving the old root");
  return {};
}

// Waits until `child` has ended and its memory is free, and ends with the same status. SIGTERM makes it kill the child.
// If both were killed at once, the end of the shadow wouldn't show that the child's memory is free.
[[noreturn]] void be_shadow_of(pid_t child, const sigset_t& heeded) {
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) ::_exit(EXIT_FAILURE);  // its status can't be known
    if (::sigwaitinfo(&heeded, nullptr) == SIGTERM) ::kill(child, SIGKILL);
  }
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  std::signal(WTERMSIG(status), SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::raise(WTERMSIG(status));
  ::_exit(EXIT_FAILURE);
}

// Becomes the first process of the new list; the old process becomes its shadow.
Trouble into_own_processes() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return trouble("pipe");
  UniqueFd parent_alive(ends[0]), parent_end(ends[1]);
  std::signal(SIGCHLD, SIG_DFL);  // if it is ignored, the status of a child is lost
  // Signals that arrive before the child exists stay pending until then.
  sigset_t heeded, before;
  ::sigemptyset(&heeded);
  ::sigaddset(&heeded, SIGTERM);
  ::sigaddset(&heeded, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &heeded, &before);
  const pid_t child = ::fork();
  if (child <= 0) ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return trouble("fork");
  if (child == 0) {
    parent_end.reset();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pollfd watched{parent_alive.get(), 0, 0};
    if (::poll(&watched, 1, 0) != 0) ::_exit(EXIT_FAILURE);  // the parent ended before the request of the signal
    return {};
  }
  // Closes the child's descriptors here, so that their peers see them close.
  ::syscall(SYS_close_range, 3U, static_cast<unsigned>(parent_end.get() - 1), 0U);
  ::syscall(SYS_close_range, static_cast<unsigned>(parent_end.get() + 1), ~0U, 0U);
  be_shadow_of(child, heeded);
}

Trouble drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return trouble("giving up capabilities");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return trouble("not being traceable");
  return {};
}

// ---- landlock (the kernel's Documentation/userspace-api/landlock.rst; older headers don't know all of it)

struct Ruleset {
  std::uint64_t files = 0, network = 0, scoped = 0;
};
struct __attribute__((packed)) PathRule {
  std::uint64_t allowed = 0;
  std::int32_t parent = -1;
};
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr std::uint64_t kExecute = 1, kWriteFile = 2, kReadFile = 4, kReadFolder = 8, kRemoveFile = 1 << 5,
                        kMakeRegular = 1 << 8, kTruncate = 1 << 14, kIoctlDevice = 1 << 15;

std::uint64_t rights_of_files(long version) {
  std::uint64_t all = (1 << 13) - 1;
  if (version >= 2) all |= 1 << 13;  // into other folders
  if (version >= 3) all |= kTruncate;
  if (version >= 5) all |= kIoctlDevice;
  return all;
}

Trouble add_paths(const UniqueFd& rules, const std::vector<fs::path>& paths, std::uint64_t rights) {
  constexpr int kBeneath = 1;
  for (const auto& path : paths) {
    const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat found{};
    if (!fd || ::fstat(fd.get(), &found) != 0) return trouble(path.native());
    const auto of_files = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDevice;
    PathRule rule{S_ISDIR(found.st_mode) ? rights : rights & of_files, fd.get()};
    if (::syscall(kAddRule, rules.get(), kBeneath, &rule, 0) != 0) return trouble(path.native());
  }
  return {};
}

Trouble lock_land(const SandboxOptions& options, std::size_t threads) {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, 1);
  if (version < 1) return trouble("landlock");
  Ruleset wanted{.files = rights_of_files(version)};
  if (version >= 4 && options.work != Work::talking) wanted.network = 3;  // binding and connecting TCP sockets
  if (version >= 6) wanted.scoped = 3;                                    // abstract Unix sockets and signals
  const UniqueFd rules(static_cast<int>(::syscall(kCreateRuleset, &wanted, sizeof wanted, 0)));
  if (!rules) return trouble("landlock's rules");
  const auto read = kReadFile | kReadFolder;
  // Plain files only, so that the user of a folder needs to check no subfolders.
  const auto write = read | kWriteFile | kTruncate | kRemoveFile | kMakeRegular;
  if (auto failed = add_paths(rules, options.readable, read & wanted.files); !failed.empty()) return failed;
  if (auto failed = add_paths(rules, options.writable, write & wanted.files); !failed.empty()) return failed;
  if (::syscall(kRestrictSelf, rules.get(), 0) != 0) return trouble("landlock's rules");
  if (threads > 1) return fmt::format("it covers one of {} threads", threads);
  return {};
}

Trouble filter_calls(Work work) {
  auto code = syscall_filter(work, ::getpid());
  sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
    return trouble("seccomp");
  return {};
}

}  // namespace

std::string_view name_of(Fence fence) {
  switch (fence) {
    case Fence::limits:
      return "limits";
    case Fence::namespaces:
      return "namespaces";
    case Fence::root:
      return "root";
    case Fence::processes:
      return "processes";
    case Fence::landlock:
      return "landlock";
    case Fence::calls:
      return "calls";
  }
  return "";
}

bool Sandboxed::has(Fence fence) const { return std::ranges::find(missing, fence, &Missing::fence) == missing.end(); }

Result<Sandboxed> enter_sandbox(const SandboxOptions& options) {
  Sandboxed made;
  const auto note = [&](Fence fence, Trouble why) {
    if (!why.empty()) made.missing.push_back({fence, std::move(why)});
    return made.has(fence);
  };
  const auto refused = [](const Trouble& why) {
    return fail(errc::sandbox_refused, fmt::format("the kernel does not permit the sandbox: {}", why));
  };
  const auto threads = count_threads();
  if (auto failed = set_limits(options); !failed.empty()) return refused(failed);
  const bool apart = note(Fence::namespaces, own_namespaces(options.own_processes, threads));
  if (options.work == Work::talking) {
    const Trouble failed = apart ? raise_loopback() : made.missing.back().why;
    if (!failed.empty()) return refused(failed);
  }
  const Trouble alone = apart ? Trouble() : Trouble("it has no namespaces");
  if (!options.own_processes) {
    note(Fence::processes, "not asked for");
  } else {
    const bool first = note(Fence::processes, apart ? into_own_processes() : alone);
    // The next process would be in the new list, in which threads can't be created.
    if (apart && !first) return refused(made.missing.back().why);
  }
  if (apart && options.threads > 0)
    if (auto failed = limit_threads(options.threads); !failed.empty()) return refused(failed);
  // After Landlock no mount is possible.
  const bool bare = note(Fence::root, apart ? bare_root(options) : alone);
  const bool locked = note(Fence::landlock, lock_land(options, threads));
  if (options.work == Work::talking && !bare && !locked) return refused(made.missing.back().why);
  if (auto failed = drop_capabilities(); !failed.empty()) return refused(failed);
  if (auto failed = filter_calls(options.work); !failed.empty()) return refused(failed);
  return made;
}

}  // namespace corral::proc
