#include "proc/exec_mode.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/control_channel.h"

namespace corral::proc {
namespace {

std::optional<int> parse_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

bool is_exec_mode(int argc, char** argv) { return argc > 1 && std::string_view(argv[1]) == kExecMode; }

int run_exec_mode(int argc, char** argv) {
  constexpr int kFirstWord = 5;
  const auto parent = argc > kFirstWord ? parse_int(argv[2]) : std::nullopt;
  const auto status_fd = argc > kFirstWord ? parse_int(argv[3]) : std::nullopt;
  if (!parent || !status_fd || std::string_view(argv[4]) != "--") return EXIT_FAILURE;
  if (!bind_to_parent(*parent)) return EXIT_FAILURE;
  reset_signals();
  // All descriptors above the standard streams and the control channel are closed when the program starts; until then
  // the status descriptor must stay open. Its closing signals success.
  const unsigned first = std::getenv(kControlVariable) ? 4 : 3;
  ::syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC);  // may fail before Linux 5.11: the spawner closed them
  ::fcntl(*status_fd, F_SETFD, FD_CLOEXEC);
  ::execvp(argv[kFirstWord], argv + kFirstWord);
  const int cause = errno;
  const auto written = ::write(*status_fd, &cause, sizeof cause);
  static_cast<void>(written);  // the parent may have closed it: the exit code has the cause, too
  return cause == ENOENT ? 127 : 126;
}

bool bind_to_parent(pid_t expected_parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before the request of the signal.
  return ::getppid() == expected_parent;
}

bool bind_to_parent_from_environment() {
  const char* text = std::getenv(kParentVariable);
  if (!text) return true;
  const auto parent = parse_int(text);
  ::unsetenv(kParentVariable);
  return parent && bind_to_parent(*parent);
}

std::filesystem::path own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

}  // namespace corral::proc
