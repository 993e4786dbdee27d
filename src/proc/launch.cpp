#include "proc/launch.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>

#include "proc/environment.h"
#include "proc/exec_mode.h"

namespace corral::proc {
namespace {

// Descriptors below this are targets in the child; ours are kept above, so that no dup2 overwrites a later source.
constexpr int kFirstOwnFd = 10;

struct FileActions {
  FileActions() { ::posix_spawn_file_actions_init(&value); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&value); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t value;
};

struct Attributes {
  // Own process group; no signal blocked or ignored, whatever we do ourselves.
  Attributes() {
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_init(&value);
    ::posix_spawnattr_setpgroup(&value, 0);
    ::posix_spawnattr_setsigmask(&value, &none);
    ::posix_spawnattr_setsigdefault(&value, &all);
    ::posix_spawnattr_setflags(&value, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t value;
};

UniqueFd move_up(UniqueFd fd) {
  if (fd.get() >= kFirstOwnFd || !fd) return fd;
  return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstOwnFd));
}

struct Pipe {
  UniqueFd ours, theirs;
};

std::optional<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return std::nullopt;
  Pipe pipe{UniqueFd(fds[0]), move_up(UniqueFd(fds[1]))};
  if (!pipe.theirs || ::fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0) return std::nullopt;
  return pipe;
}

// A pipe in the other direction: the child reads.
std::optional<Pipe> make_input_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return std::nullopt;
  Pipe pipe{UniqueFd(fds[1]), move_up(UniqueFd(fds[0]))};
  if (!pipe.theirs || ::fcntl(fds[1], F_SETFL, O_NONBLOCK) != 0) return std::nullopt;
  return pipe;
}

std::vector<std::string> make_environment(const ChildSpec& spec) {
  auto changes = spec.environment;
  changes[kControlVariable] = spec.control_channel ? std::optional(std::to_string(kControlFd)) : std::nullopt;
  changes[kParentVariable] = spec.binds_itself ? std::optional(std::to_string(::getpid())) : std::nullopt;
  return child_environment(environ, changes);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::unexpected<Error> system_failure(const ChildSpec& spec, int cause) {
  return fail(errc::spawn_failed, fmt::format("cannot start '{}': {}", spec.argv[0], std::strerror(cause)));
}

}  // namespace

Error exec_error(const ChildSpec& spec, int cause) {
  const auto& program = spec.argv[0];
  if (cause == ENOENT || cause == ENOTDIR) {
    return {make_error_code(errc::program_not_found),
            fmt::format("program '{}' (or its interpreter) not found", program)};
  }
  if (cause == EACCES || cause == EPERM) {
    return {make_error_code(errc::permission_denied), fmt::format("program '{}' may not be executed", program)};
  }
  return system_failure(spec, cause).error();
}

Result<Launched> launch(const ChildSpec& spec, const std::filesystem::path& own_program) {
  if (spec.argv.empty()) return fail(errc::spawn_failed, "cannot start a program without a name");
  std::error_code ignored;
  if (!spec.working_directory.empty() && !std::filesystem::is_directory(spec.working_directory, ignored)) {
    return fail(errc::bad_working_directory, fmt::format("working directory '{}' for '{}' is no directory",
                                                         spec.working_directory.string(), spec.argv[0]));
  }

  Launched launched;
  FileActions actions;
  auto out = make_pipe(), err = make_pipe();
  if (!out || !err) return system_failure(spec, errno);
  std::optional<Pipe> in;
  if (spec.pipes) {
    in = make_input_pipe();
    if (!in) return system_failure(spec, errno);
    ::posix_spawn_file_actions_adddup2(&actions.value, in->theirs.get(), 0);
  } else {
    ::posix_spawn_file_actions_addopen(&actions.value, 0, "/dev/null", O_RDONLY, 0);
  }
  ::posix_spawn_file_actions_adddup2(&actions.value, out->theirs.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions.value, err->theirs.get(), 2);
  int next_fd = kControlFd;

  UniqueFd their_control;
  if (spec.control_channel) {
    auto pair = make_socket_pair();
    if (!pair) return system_failure(spec, errno);
    launched.control = std::move(pair->ours);
    their_control = move_up(std::move(pair->theirs));
    if (!their_control) return system_failure(spec, errno);
    ::posix_spawn_file_actions_adddup2(&actions.value, their_control.get(), next_fd++);
  }

  auto argv = spec.argv;
  std::optional<Pipe> status;
  if (!spec.binds_itself) {
    status = make_pipe();
    if (!status) return system_failure(spec, errno);
    const std::initializer_list<std::string> prefix = {own_program.string(), kExecMode, std::to_string(::getpid()),
                                                       std::to_string(next_fd), "--"};
    argv.insert(argv.begin(), prefix);
    ::posix_spawn_file_actions_adddup2(&actions.value, status->theirs.get(), next_fd++);
  }
  // Libraries may have opened descriptors without close-on-exec.
  ::posix_spawn_file_actions_addclosefrom_np(&actions.value, next_fd);
  if (!spec.working_directory.empty()) {
    ::posix_spawn_file_actions_addchdir_np(&actions.value, spec.working_directory.c_str());
  }

  const Attributes attributes;
  auto environment = make_environment(spec);
  const auto program = argv[0];
  const auto arguments = pointers(argv);
  const auto variables = pointers(environment);
  pid_t pid = 0;
  const int failure =
      ::posix_spawn(&pid, program.c_str(), &actions.value, &attributes.value, arguments.data(), variables.data());
  if (failure != 0) {
    if (spec.binds_itself) return std::unexpected(exec_error(spec, failure));
    return fail(errc::spawn_failed,
                fmt::format("cannot start '{}' through {}: {}", spec.argv[0], program, std::strerror(failure)));
  }
  auto handle = ProcessHandle::adopt(pid, spec.leftovers, !spec.binds_itself);
  if (!handle) return std::unexpected(std::move(handle.error()));
  launched.process = std::move(*handle);
  launched.out = std::move(out->ours);
  launched.err = std::move(err->ours);
  if (in) launched.in = std::move(in->ours);
  if (status) launched.exec_status = std::move(status->ours);
  return launched;
}

}  // namespace corral::proc
