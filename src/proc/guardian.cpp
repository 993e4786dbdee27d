#include "proc/guardian.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/read_proc.h"
#include "proc/control_channel.h"

namespace corral::proc {
namespace {

// Some processes can't be killed: those of other users, and those that wait in the kernel.
constexpr auto kLongestEnd = std::chrono::seconds(4);
constexpr timespec kLook = {.tv_sec = 0, .tv_nsec = 20'000'000};
constexpr int kNotFound = 127, kNotExecutable = 126;

struct Guarded {
  pid_t pid = 0;
  std::optional<int> status;  // of waitpid(), once it has ended
};

void report(int status_fd, int value) {
  const auto written = ::write(status_fd, &value, sizeof value);
  static_cast<void>(written);  // the parent may have closed it: the exit code has the cause, too
}

// Moves the words out of the command line that other processes see: `pkill -f PROGRAM` isn't meant for the guardian. A
// program would get SIGTERM twice then, and SIGKILL of its guardian would leave behind what it has started.
std::vector<std::string> take_words(char** argv) {
  std::vector<std::string> words;
  for (; *argv != nullptr; ++argv) {
    words.emplace_back(*argv);
    std::memset(*argv, 0, words.back().size());
  }
  return words;
}

// In the child: becomes the program.
[[noreturn]] void become(pid_t guardian, int status_fd, std::vector<std::string>& words) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guardian) ::_exit(EXIT_FAILURE);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // All descriptors above the standard streams and the control channel are closed when the program starts; until then
  // the status descriptor must stay open. Its closing signals success.
  const unsigned first = std::getenv(kControlVariable) ? 4 : 3;
  ::syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC);  // may fail before Linux 5.11: the spawner closed them
  ::fcntl(status_fd, F_SETFD, FD_CLOEXEC);
  report(status_fd, ::getpid());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const int cause = errno;
  report(status_fd, cause);
  ::_exit(cause == ENOENT ? kNotFound : kNotExecutable);
}

// Closes the program's pipes and its channel here, which else would stay open when the program closes them, and leaves
// its folder.
void let_go() {
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) ::dup2(nothing, fd);
  if (::syscall(SYS_close_range, 3, ~0U, 0) != 0) {
    const auto max = static_cast<int>(::sysconf(_SC_OPEN_MAX));
    for (int fd = 3; fd < max; ++fd) ::close(fd);
  }
  if (::chdir("/") != 0) return;  // then it keeps its folder
}

// The parent of a process; 0: it has ended.
pid_t parent_of(const char* pid) {
  const auto text = read_proc(std::string("/proc/") + pid + "/stat");
  // "12 (name) S 1 ...": the name may have any character, line ends included.
  const auto name_end = text.rfind(") ");
  constexpr std::size_t kToParent = 4;
  if (name_end == text.npos || text.size() < name_end + kToParent) return 0;
  pid_t parent = 0;
  std::from_chars(text.data() + name_end + kToParent, text.data() + text.size(), parent);
  return parent;
}

void kill_children() {
  const pid_t self = ::getpid();
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  if (!folder) return;
  while (const auto* entry = ::readdir(folder.get())) {
    const std::string_view name(entry->d_name);
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size() && parent_of(entry->d_name) == self)
      ::kill(pid, SIGKILL);
  }
}

// Reaps what has ended. False: there are no children.
bool reap(Guarded& program) {
  for (;;) {
    siginfo_t info = {};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return false;
    if (info.si_pid == 0) return true;
    // A group never outlives its leader. Its id is still the program's, which isn't reaped yet.
    if (info.si_pid == program.pid) ::kill(-program.pid, SIGKILL);
    int status = 0;
    ::waitpid(info.si_pid, &status, 0);
    if (info.si_pid == program.pid) program.status = status;
  }
}

// Children of a killed process become children of this one, and are killed next: parents before children, so that none
// is started again.
void end_descendants(Guarded& program) {
  const auto deadline = MonoClock::now() + kLongestEnd;
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGCHLD);
  while (reap(program) && MonoClock::now() < deadline) {
    kill_children();
    ::sigtimedwait(&ends, nullptr, &kLook);
  }
}

void pass_on(const Guarded& program, int signal) {
  ::kill(-program.pid, signal);
  if (::getpgid(program.pid) != program.pid) ::kill(program.pid, signal);
}

[[noreturn]] void end_like(int status) {
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  constexpr rlimit kNoCore = {0, 0};
  ::setrlimit(RLIMIT_CORE, &kNoCore);
  ::signal(signal, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::kill(::getpid(), signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::_exit(EXIT_FAILURE);  // not reached: each of these signals ends it
}

}  // namespace

int end_signal() { return SIGRTMAX; }

int run_guardian(pid_t parent, int status_fd, char** argv) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_PDEATHSIG, end_signal());
  // The parent may have ended before the request of the signal.
  if (::getppid() != parent) return EXIT_FAILURE;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  auto words = take_words(argv);
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(self, status_fd, words);
  if (child < 0) {
    const int cause = errno;
    report(status_fd, 0);
    report(status_fd, cause);
    return kNotExecutable;
  }
  ::setpgid(child, child);  // here as well: signals may come before the child has run
  let_go();
  ::prctl(PR_SET_NAME, "guardian");  // `pkill corral` isn't meant for it

  Guarded program{.pid = child, .status = {}};
  while (!program.status) {
    const int signal = ::sigwaitinfo(&all, nullptr);
    if (signal == end_signal()) break;
    if (signal == SIGCHLD) {
      reap(program);
    } else if (signal > 0) {
      pass_on(program, signal);
    }
  }
  end_descendants(program);
  end_like(program.status.value_or(SIGKILL));
}

}  // namespace corral::proc
