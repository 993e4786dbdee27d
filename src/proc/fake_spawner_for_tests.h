// Fake child processes, for tests of everything above this folder: no process, no time, no PATH.
//
//   FakeSpawner spawner(timers);
//   spawner.script = [](std::shared_ptr<FakeProcess> process) -> async::Task<void> {
//     process->print("loading");
//     co_await process->control().write_line("ready");
//   };
//   ... spawner.processes()[0]->die(SIGSEGV);
//
// All on one loop.
#pragma once

#include <csignal>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "proc/child.h"
#include "proc/log_sink.h"

namespace corral::proc {

// The inside of a fake process: the test's handle to it, which stays valid after the Child was destroyed.
class FakeProcess {
 public:
  FakeProcess(async::Executor executor, ChildSpec spec, pid_t pid);

  const ChildSpec& spec() const { return spec_; }
  pid_t pid() const { return pid_; }
  bool alive() const { return !status_; }
  std::optional<ExitStatus> status() const { return status_; }
  // Signals from the owner, in order.
  const std::vector<int>& signals() const { return signals_; }
  // The child's side of its control channel; the spec must have asked for one.
  ControlChannel& control() { return *child_side_; }

  // For a spec with pipes: the input from its owner so far, and whether it has ended.
  const std::string& input() const { return input_; }
  bool input_closed() const { return input_closed_; }
  // A piece of its output.
  void write(std::string bytes);

  // Actions of a process. None has an effect after its end.
  void print(std::string_view line, bool to_stderr = false);
  void exit(int code);
  void die(int signal);
  // Makes the process ignore SIGTERM (SIGKILL always works).
  void ignore_terminate() { ignores_terminate_ = true; }

 private:
  friend class FakeChild;
  void receive(int signal);
  void end(ExitStatus status);

  const ChildSpec spec_;
  const pid_t pid_;
  LogSink log_;
  std::unique_ptr<ControlChannel> parent_side_, child_side_;
  async::Event ended_;
  std::optional<ExitStatus> status_;
  std::vector<int> signals_;
  std::string input_;
  bool input_closed_ = false;
  async::Channel<std::string> output_;
  bool ignores_terminate_ = false;
};

class FakeSpawner final : public Spawner {
 public:
  using Script = std::function<async::Task<void>(std::shared_ptr<FakeProcess>)>;

  // `timers` are for the grace of stop().
  explicit FakeSpawner(async::Timers& timers) : timers_(timers) {}

  // The actions of every process that is started from now on, in addition to its reaction to signals. It runs until it
  // returns, also beyond the end of the process; cancelled with the spawner. The default does nothing.
  Script script;
  // If set, the next spawn() fails with it (and clears it).
  std::optional<Error> next_failure;

  async::Task<Result<std::unique_ptr<Child>>> spawn(ChildSpec spec) override;

  // Every process so far, in the order of their start.
  const std::vector<std::shared_ptr<FakeProcess>>& processes() const { return processes_; }
  std::size_t running() const;

 private:
  async::Timers& timers_;
  std::vector<std::shared_ptr<FakeProcess>> processes_;
  std::unique_ptr<async::TaskGroup> scripts_;  // on the loop of the first spawn()
};

}  // namespace corral::proc
