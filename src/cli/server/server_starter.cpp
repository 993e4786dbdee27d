#include "cli/server/server_starter.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/errors.h"
#include "config/files/state_lock.h"
#include "proc/exec_mode.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLookMillis = 50;
constexpr int kStartLooks = 1'200;  // a minute
constexpr int kStopLooks = 400;     // 20 s

// A server that runs as a child of this process.
class StartedServer {
 public:
  explicit StartedServer(pid_t pid) : pid_(pid) {}
  ~StartedServer() {
    if (has_ended()) return;
    ::kill(pid_, SIGTERM);
    for (int i = 0; i < kStopLooks && !has_ended(); ++i) ::poll(nullptr, 0, kLookMillis);
    if (has_ended()) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  StartedServer(const StartedServer&) = delete;
  StartedServer& operator=(const StartedServer&) = delete;

  pid_t pid() const { return pid_; }
  bool has_ended() {
    if (!ended_) ended_ = ::waitpid(pid_, nullptr, WNOHANG) != 0;
    return ended_;
  }

 private:
  const pid_t pid_;
  bool ended_ = false;
};

std::string last_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string last;
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) last = std::move(line);
  return last;
}

std::unexpected<Error> not_started(std::string_view why, const fs::path& log) {
  return fail(errc::no_server, fmt::format("the server could not be started: {} (log: {})", why, log.native()));
}

// The pid, or a negative errno.
pid_t spawn_server(const std::vector<std::string>& words, const fs::path& log) {
  const auto program = proc::own_program();
  std::vector<std::string> texts{program.native()};
  texts.insert(texts.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (auto& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  auto parent = fmt::format("{}={}", proc::kParentVariable, ::getpid());
  std::vector<char*> variables{parent.data()};
  for (char** at = environ; *at != nullptr; ++at) variables.push_back(*at);
  variables.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);  // Ctrl-C is for this program only
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, program.c_str(), &files, &attributes, argv.data(), variables.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return failed == 0 ? pid : -failed;
}

}  // namespace

std::vector<std::string> words_of_server(const Address& address, const config::Inputs& inputs) {
  std::vector<std::string> words{"serve", "--host", address.host, "--port", std::to_string(address.port)};
  if (inputs.config_file) words.insert(words.end(), {"--config", inputs.config_file->native()});
  return words;
}

Result<std::shared_ptr<void>> start_server(const Address& address, const config::Inputs& inputs,
                                           Interrupts& interrupts) {
  const auto state_dir = config::find_state_dir(inputs);
  if (!state_dir) return std::unexpected(state_dir.error());
  const auto log = *state_dir / "log/started-server.log";
  std::error_code failed;
  fs::create_directories(log.parent_path(), failed);
  if (failed) return not_started(failed.message(), log);
  const auto pid = spawn_server(words_of_server(address, inputs), log);
  if (pid < 0) return not_started(std::generic_category().message(-pid), log);
  auto server = std::make_shared<StartedServer>(pid);
  for (int i = 0; i < kStartLooks; ++i) {
    const auto running = config::running_server(*state_dir);
    if (running && running->process == pid && running->port != 0) return server;
    if (server->has_ended()) return not_started(last_line(log), log);
    pollfd asked{interrupts.fd(), POLLIN, 0};
    if (::poll(&asked, 1, kLookMillis) == 1) {
      interrupts.take();
      return fail(errc::interrupted, "interrupted");
    }
  }
  return not_started("it did not listen within a minute", log);
}

}  // namespace corral::cli
