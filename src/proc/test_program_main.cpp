// A program for the tests of this folder: the "own program" of their spawner, and children that behave in known ways.
//   test_program MODE [ARGUMENT]
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <thread>

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "async/event.h"
#include "async/loop.h"
#include "proc/exec_mode.h"
#include "proc/posix_spawner.h"
#include "proc/sandbox.h"
#include "proc/stderr_filter.h"

namespace corral::proc {
namespace {

using async::Task;

// The lambdas here live until run_blocking() has returned.
// NOLINTBEGIN(cppcoreguidelines-avoid-capturing-lambda-coroutines)

// One write per line, no buffer that a signal could lose.
void print_line(std::string_view line) {
  const auto text = fmt::format("{}\n", line);
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) std::_Exit(99);
}

int wait_for_signal() {
  print_line("ready");
  for (;;) ::pause();
}

int ignore_terminate(const std::string&) {
  std::signal(SIGTERM, SIG_IGN);
  return wait_for_signal();
}

int heed_terminate(const std::string&) {
  std::signal(SIGTERM, [](int) {
    print_line("bye");
    std::_Exit(3);
  });
  return wait_for_signal();
}

// Waits as a child of its group (0), in a session of its own (1), or so that its parent has ended (2). Writes its pid.
// Its name looks like a part of a line of /proc.
[[noreturn]] void member(int kind, int pid_pipe) {
  ::prctl(PR_SET_NAME, "a)\n(b) S 1\n");
  std::signal(SIGTERM, SIG_IGN);
  if (kind > 0) ::setsid();
  if (kind == 2 && ::fork() != 0) std::_Exit(0);
  const pid_t self = ::getpid();
  if (::write(pid_pipe, &self, sizeof self) != sizeof self) std::_Exit(99);
  for (;;) ::pause();
}

// Starts one of each kind, prints their pids, and waits.
int family(const std::string&) {
  std::vector<pid_t> pids(3);
  for (int kind = 0; kind < 3; ++kind) {
    int fds[2];
    if (::pipe(fds) != 0) return EXIT_FAILURE;
    if (::fork() == 0) member(kind, fds[1]);
    auto& pid = pids[static_cast<std::size_t>(kind)];
    if (::read(fds[0], &pid, sizeof pid) != sizeof pid) return EXIT_FAILURE;
  }
  print_line(fmt::format("{} {} {}", pids[0], pids[1], pids[2]));
  for (;;) ::pause();
}

int bound(const std::string&) {
  if (!bind_to_parent_from_environment()) return EXIT_FAILURE;
  return wait_for_signal();
}

// Every byte value, and lines of growing length: about `bytes` in all, alternating between the two streams.
int flood(const std::string& bytes) {
  std::string block;
  for (int i = 0; i < 4096; ++i) block += static_cast<char>(i % 97 == 0 ? '\n' : i % 256);
  const auto total = std::stoul(bytes);
  for (std::size_t sent = 0; sent < total; sent += block.size()) {
    const int fd = sent / block.size() % 2 ? STDERR_FILENO : STDOUT_FILENO;
    for (std::size_t done = 0; done < block.size();) {
      const auto count = ::write(fd, block.data() + done, block.size() - done);
      if (count < 0) return EXIT_FAILURE;
      done += static_cast<std::size_t>(count);
    }
  }
  print_line("end of flood");
  return 0;
}

// A library's print of a client's text of `bytes` bytes, among other output.
int print_secrets(const std::string& bytes) {
  static constexpr std::string_view kCut[] = {"parse: error", "WARNING:"};
  cut_stderr_behind(kCut);
  const std::string text(std::stoul(bytes), 'S');
  std::fprintf(stderr, "plain %d\n", 1);
  std::fprintf(stderr, "%s: error parsing grammar: at %s\n\n%s\n", "parse", text.c_str(), text.c_str());
  std::fprintf(stderr, "plain 2\n");
  std::fputs("WARNING: SSS\n", stderr);
  std::fprintf(stderr, "no parse: error\n");
  return 0;
}

// Descriptors above 2 at its start.
int descriptors(const std::string&) {
  DIR* folder = ::opendir("/proc/self/fd");
  while (const auto* entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (fd > 2 && fd != ::dirfd(folder)) print_line(fmt::format("fd {}", fd));
  }
  ::closedir(folder);
  return 0;
}

// Signals that are ignored or blocked.
int signals(const std::string&) {
  sigset_t blocked;
  ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action = {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      print_line(fmt::format("ignored {}", signal));
    if (::sigismember(&blocked, signal) == 1) print_line(fmt::format("blocked {}", signal));
  }
  return 0;
}

// Answers each control line until the channel closes.
int echo(const std::string&) {
  async::Loop loop;
  auto channel = ControlChannel::from_environment(loop.executor());
  if (!channel) return EXIT_FAILURE;
  auto serve = [&]() -> Task<void> {
    for (;;) {
      auto line = co_await channel->read_line();
      if (!line) co_return;
      auto answer = "echo " + *line;
      co_await channel->write_line(std::move(answer));
    }
  };
  async::run_blocking(loop, serve());
  return 7;
}

int leave_with_parent(const std::string&) {
  async::Loop loop;
  auto channel = ControlChannel::from_environment(loop.executor());
  if (!channel) return EXIT_FAILURE;
  print_line("ready");
  async::run_blocking(loop, channel->until_peer_gone());
  return 5;
}

// A minimal router: starts a child that runs `mode`, prints its pid and first line, then waits to be killed.
int parent(const std::string& mode) {
  async::Loop loop;
  async::SystemTimers timers;
  PosixSpawner spawner(timers, {.own_program = own_program()});
  auto run = [&]() -> Task<void> {
    async::Event ready(co_await async::asio::this_coro::executor);
    ChildSpec spec{.name = "child", .argv = {own_program().string(), mode}};
    spec.binds_itself = mode == "bound";
    std::string first;
    spec.on_line = [&](const LogLine& line) {
      first = line.text;
      ready.set();
    };
    auto child = co_await spawner.spawn(std::move(spec));
    if (!child) co_return;
    co_await ready.wait();
    print_line(fmt::format("{} {}", (*child)->pid(), first));
    co_await (*child)->wait();
  };
  async::run_blocking(loop, run());
  return EXIT_FAILURE;
}

constexpr std::uint64_t kSandboxMemory = 512ull << 20;  // includes the memory that sanitizers add to a thread

constexpr std::uint64_t kSandboxFile = 1 << 20;

// Prints the result of a call: "yes", or the error.
void report(std::string_view what, bool done) {
  const auto why = done ? std::string("yes") : fmt::format("no ({})", std::strerror(errno));
  print_line(fmt::format("{}: {}", what, why));
}

bool can_read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char byte = 0;
  return fd >= 0 && ::read(fd, &byte, 1) == 1;
}

bool can_connect(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

bool can_start(const char* program) {
  const char* argv[] = {program, nullptr};
  pid_t pid = 0;
  errno = ::posix_spawn(&pid, program, nullptr, nullptr, const_cast<char**>(argv), environ);
  return errno == 0;
}

bool can_fork() {
  const pid_t pid = ::fork();
  if (pid == 0) std::_Exit(0);
  return pid > 0 && ::waitpid(pid, nullptr, 0) == pid;
}

bool can_start_threads() {
  try {
    std::thread([] {}).join();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

bool can_talk_to_itself() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* const generic = reinterpret_cast<sockaddr*>(&at);
  if (listener < 0 || ::bind(listener, generic, size) != 0 || ::listen(listener, 1) != 0) return false;
  return ::getsockname(listener, generic, &size) == 0 && can_connect(ntohs(at.sin_port));
}

// Sends to another process's socket on the disk, by one of a pair.
bool can_send_to(const std::string& path) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  path.copy(to.sun_path, sizeof to.sun_path - 1);
  return ::sendto(pair[0], "x", 1, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 1;
}

// Creates plain files up to a size, in a writable folder.
void try_folder(const std::string& folder) {
  const auto at = [&](const char* name) { return folder + "/" + name; };
  const int fd = ::open(at("file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  report("make a file where it may", fd >= 0 && ::write(fd, "x", 1) == 1);
  report("make it as large as it likes", ::pwrite(fd, "x", 1, kSandboxFile) == 1);
  report("take the disk without writing", ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, kSandboxFile) == 0);
  report("make a folder", ::mkdir(at("folder").c_str(), 0700) == 0 || ::mkdirat(AT_FDCWD, at("f").c_str(), 0700) == 0);
  report("make a link", ::symlink("/", at("link").c_str()) == 0 || ::link(at("file").c_str(), at("same").c_str()) == 0);
  report("make a pipe", ::mkfifo(at("pipe").c_str(), 0600) == 0);
  report("remove what it made", ::unlink(at("file").c_str()) == 0);
}

// Tries everything that is forbidden in the sandbox. "reading PATH PORT", "serving …", "talking …": PATH, a second file
// ("PATH.other"), a writable folder ("PATH.folder") and a datagram socket ("PATH.socket") exist, and a server listens
// on PORT.
int locked_in(const std::string& argument) {
  const bool talking = argument.starts_with("talking"), serving = talking || argument.starts_with("serving");
  const auto begin = argument.find(' ') + 1, end = argument.rfind(' ');
  const auto path = argument.substr(begin, end - begin);
  const auto port = static_cast<std::uint16_t>(std::stoi(argument.substr(end + 1)));
  const int open_before = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const pid_t parent = ::getppid();
  const auto work = talking ? Work::talking : serving ? Work::serving : Work::reading;
  SandboxOptions options{.work = work, .memory = kSandboxMemory, .cpu_seconds = 30};
  if (serving) options.readable = {path};
  if (serving) options.writable = {path + ".folder"};
  options.file_bytes = kSandboxFile;
  options.own_processes = serving;
  const auto made = enter_sandbox(options);
  if (!made) {
    print_line(made.error().message);
    return EXIT_FAILURE;
  }
  for (const auto& missing : made->missing)
    print_line(fmt::format("missing {}: {}", name_of(missing.fence), missing.why));
  char byte = 0;
  report("read what was open", ::pread(open_before, &byte, 1, 0) == 1);
  report("open what is named", can_read(path));
  report("open another file", can_read(path + ".other"));
  report("make a file", ::open((path + ".new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0);
  report("connect", can_connect(port));
  report("talk to itself", can_talk_to_itself());
  report("make a Unix socket", ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
  int pair[2];
  report("pair sockets of datagrams", ::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0);
  report("pair sockets of streams", ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  report("send to a socket of another", can_send_to(path + ".socket"));
  if (serving) try_folder(path + ".folder");
  report("see what isn't named", ::access("/etc", F_OK) == 0 || ::access("/usr", F_OK) == 0);
  report("use other protocols", ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
  report("fork", can_fork());
  report("start a program", can_start("/bin/true"));
  report("become a program", ::execl("/bin/true", "true", nullptr) == 0);
  report("start a thread", can_start_threads());
  report("kill its parent", ::kill(parent, 0) == 0);
  report("trace its parent", ::ptrace(PTRACE_ATTACH, parent, nullptr, nullptr) == 0);
  constexpr std::size_t kMuch = 4 * kSandboxMemory;
  report("have much memory",
         ::mmap(nullptr, kMuch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  report("run what it wrote",
         ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  report("mount", ::syscall(SYS_mount, "none", "/", "tmpfs", 0, nullptr) == 0);
  std::_Exit(serving ? 7 : 0);
}

// Computes or waits without end; or calls abort().
int locked_in_and_bad(const std::string& how) {
  if (!enter_sandbox({.memory = kSandboxMemory, .cpu_seconds = 1})) return EXIT_FAILURE;
  print_line("ready");
  if (how == "abort") std::abort();
  std::signal(SIGSEGV, SIG_DFL);  // sanitizers have a handler
  if (how == "crash") ::raise(SIGSEGV);
  for (volatile std::uint64_t i = 0;; i = i + 1) {
  }
}

SandboxOptions apart() { return {.work = Work::serving, .own_processes = true}; }

// Holds much memory, and ignores requests to end.
int locked_in_and_large(const std::string& bytes) {
  const auto made = enter_sandbox(apart());
  if (!made || !made->has(Fence::processes)) {
    print_line("missing");
    return EXIT_FAILURE;
  }
  std::signal(SIGTERM, SIG_IGN);
  const auto size = std::stoul(bytes);
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return EXIT_FAILURE;
  ::madvise(memory, size, MADV_NOHUGEPAGE);  // many pages take long to free
  std::memset(memory, 1, size);
  print_line("ready");
  for (;;) ::poll(nullptr, 0, -1);
}

// Starts threads that wait, until no further one is possible.
int locked_in_and_many(const std::string& max) {
  auto options = apart();
  options.threads = static_cast<unsigned>(std::stoul(max));
  const auto made = enter_sandbox(options);
  if (!made || !made->has(Fence::processes)) {
    print_line("missing");
    return EXIT_FAILURE;
  }
  int started = 1;
  try {
    for (constexpr int kFarTooMany = 3000; started < kFarTooMany; ++started) {
      std::thread([] {
        for (;;) ::poll(nullptr, 0, -1);
      }).detach();
    }
  } catch (const std::system_error&) {
  }
  print_line(fmt::format("{}", started));
  std::_Exit(0);
}

// Writes the time at which it ends, in ns of the steady clock.
int stamp(const std::string&) {
  const auto now = MonoClock::now().time_since_epoch();
  print_line(fmt::format("{}", std::chrono::nanoseconds(now).count()));
  std::_Exit(0);
}

// The cost of a start and of the detection of an end, as medians over `rounds`.
int measure(const std::string& rounds) {
  async::Loop loop;
  async::SystemTimers timers;
  PosixSpawner spawner(timers, {.own_program = own_program()});
  auto run = [&]() -> Task<void> {
    for (const bool direct : {false, true}) {
      std::vector<std::int64_t> starts, notices;
      for (int i = 0; i < std::stoi(rounds); ++i) {
        ChildSpec spec{.name = "stamp", .argv = {own_program().string(), "stamp"}, .binds_itself = direct};
        const auto begin = MonoClock::now();
        auto child = co_await spawner.spawn(std::move(spec));
        starts.push_back((MonoClock::now() - begin).count());
        if (!child) co_return;
        co_await (*child)->wait();
        notices.push_back(MonoClock::now().time_since_epoch().count() - std::stoll((*child)->log().text()));
      }
      for (auto* times : {&starts, &notices}) {
        std::ranges::sort(*times);
        fmt::print("{} {}: p50 {} us, p99 {} us\n", direct ? "direct" : "exec mode",
                   times == &starts ? "start" : "notice", (*times)[times->size() / 2] / 1000,
                   (*times)[times->size() * 99 / 100] / 1000);
      }
    }
  };
  async::run_blocking(loop, run());
  return 0;
}

// NOLINTEND(cppcoreguidelines-avoid-capturing-lambda-coroutines)

const std::map<std::string_view, int (*)(const std::string&)> kModes = {
    {"ignore-terminate", ignore_terminate},
    {"heed-terminate", heed_terminate},
    {"family", family},
    {"bound", bound},
    {"flood", flood},
    {"print-secrets", print_secrets},
    {"descriptors", descriptors},
    {"signals", signals},
    {"echo", echo},
    {"leave-with-parent", leave_with_parent},
    {"parent", parent},
    {"locked-in", locked_in},
    {"locked-in-and-bad", locked_in_and_bad},
    {"locked-in-and-large", locked_in_and_large},
    {"locked-in-and-many", locked_in_and_many},
    {"stamp", stamp},
    {"measure", measure},
};

}  // namespace
}  // namespace corral::proc

int main(int argc, char** argv) {
  using namespace corral::proc;
  if (is_exec_mode(argc, argv)) return run_exec_mode(argc, argv);
  const auto mode = argc > 1 ? kModes.find(argv[1]) : kModes.end();
  if (mode == kModes.end()) return 64;
  return mode->second(argc > 2 ? argv[2] : "");
}
