#include "proc/exec_mode.h"

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include <sys/prctl.h>
#include <unistd.h>

#include "proc/guardian.h"

namespace corral::proc {
namespace {

std::optional<int> parse_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool is_exec_mode(int argc, char** argv) { return argc > 1 && std::string_view(argv[1]) == kExecMode; }

int run_exec_mode(int argc, char** argv) {
  constexpr int kFirstWord = 5;
  const auto parent = argc > kFirstWord ? parse_int(argv[2]) : std::nullopt;
  const auto status_fd = argc > kFirstWord ? parse_int(argv[3]) : std::nullopt;
  if (!parent || !status_fd || std::string_view(argv[4]) != "--") return EXIT_FAILURE;
  return run_guardian(*parent, *status_fd, argv + kFirstWord);
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
