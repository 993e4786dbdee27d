// Real children for tests: a loop, a spawner with proc_test_program as its own program, and ways to wait without
// sleeping.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>

#include "async/event.h"
#include "async/loop.h"
#include "proc/exec_mode.h"
#include "proc/posix_spawner.h"

namespace corral::proc {

// It is next to the test program.
inline std::string test_program() { return own_program().parent_path() / "proc_test_program"; }

// Watches any process; -1: it has already ended.
inline int pidfd_of(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

// Waits for its end. Only a failing test reaches the limit.
inline bool has_ended(const UniqueFd& pidfd) {
  constexpr int kPatienceMillis = 60'000;
  pollfd poll = {pidfd.get(), POLLIN, 0};
  return ::poll(&poll, 1, kPatienceMillis) == 1;
}

class RealProcesses : public testing::Test {
 protected:
  static ChildSpec mode(std::string name, std::string argument = "") {
    return {.name = name, .argv = {test_program(), name, std::move(argument)}};
  }
  static ChildSpec shell(std::string script) { return {.name = "shell", .argv = {"/bin/sh", "-c", std::move(script)}}; }

  async::Task<std::unique_ptr<Child>> start(ChildSpec spec) {
    auto child = co_await spawner.spawn(std::move(spec));
    if (!child) throw std::runtime_error(child.error().message);
    co_return std::move(*child);
  }
  // Starts it and waits for its first line of output.
  async::Task<std::unique_ptr<Child>> start_ready(ChildSpec spec) {
    async::Event ready(co_await async::asio::this_coro::executor);
    spec.on_line = [event = &ready, seen = false](const LogLine&) mutable {
      if (!std::exchange(seen, true)) event->set();
    };
    auto child = co_await start(std::move(spec));
    co_await ready.wait();
    co_return child;
  }
  async::Task<ExitStatus> run_to_end(ChildSpec spec) {
    const auto child = co_await start(std::move(spec));
    output = "";
    const auto status = co_await child->wait();
    output = child->log().text();
    co_return status;
  }
  ExitStatus run(ChildSpec spec) { return async::run_blocking(loop, run_to_end(std::move(spec))); }

  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  PosixSpawner spawner{timers, {.own_program = test_program()}};
  std::string output;  // of the last run
};

}  // namespace corral::proc
