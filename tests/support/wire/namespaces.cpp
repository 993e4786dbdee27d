#include "namespaces.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace corral::wire {
namespace {

constexpr const char* kOwn = "/proc/thread-self/ns/net";

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

int checked(int result, const std::string& what) {
  if (result < 0) fail(what);
  return result;
}

void enter(int space) { checked(::setns(space, CLONE_NEWNET), "entering a network namespace"); }

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Descriptor open_namespace(const std::string& path) {
  return Descriptor(checked(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path));
}

Descriptor make_namespace() {
  const Descriptor home = open_namespace(kOwn);
  checked(::unshare(CLONE_NEWNET), "making a network namespace");
  Descriptor made = open_namespace(kOwn);
  enter(home.get());
  return made;
}

Inside::Inside(int space) : home_(open_namespace(kOwn)) { enter(space); }
Inside::~Inside() {
  // Going on in another namespace than the caller believes would be worse than ending here.
  if (::setns(home_.get(), CLONE_NEWNET) != 0) std::terminate();
}

Descriptor make_tun(const std::string& name) {
  Descriptor device(checked(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK), "/dev/net/tun"));
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  checked(::ioctl(device.get(), TUNSETIFF, &request), "making a TUN device");
  return device;
}

void run_ip(const std::vector<std::string>& commands) {
  std::string text;
  for (const std::string& command : commands) text += command + "\n";
  int ends[2];
  checked(::pipe2(ends, O_CLOEXEC), "a pipe");
  const Descriptor input(ends[0]);
  Descriptor output(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  char program[] = "ip";
  char batch[] = "-batch";
  char standard_input[] = "-";
  char* const arguments[] = {program, batch, standard_input, nullptr};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, program, &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), "ip (of iproute2)");
  // A few lines: they fit the pipe.
  checked(static_cast<int>(::write(output.get(), text.data(), text.size())), "telling ip");
  output = Descriptor();
  int status = 0;
  checked(::waitpid(child, &status, 0), "waiting for ip");
  if (status != 0) throw std::runtime_error("ip refused: " + text);
}

}  // namespace corral::wire
