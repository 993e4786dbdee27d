// The Child of a real process: watches its pidfd, reads its output, reaps it.
#pragma once

#include "async/timer.h"
#include "proc/child.h"
#include "proc/launch.h"

namespace corral::proc {

class PosixChild final : public Child {
 public:
  PosixChild(async::Executor executor, async::Timers& timers, const ChildSpec& spec, Launched launched);
  ~PosixChild() override;

  const std::string& name() const override;
  pid_t pid() const override;
  bool alive() const override;
  async::Task<ExitStatus> wait() override;
  void kill(int signal) override;
  async::Task<ExitStatus> stop(MonoClock::duration grace) override;
  const LogTail& log() const override;
  ControlChannel* control() override { return control_.get(); }
  async::Task<Result<>> write_input(std::string text) override;
  void close_input() override;
  async::Task<Result<std::string>> read_output() override;

 private:
  struct Process;

  async::Timers& timers_;
  std::shared_ptr<Process> process_;  // shared with the tasks that watch it
  std::unique_ptr<ControlChannel> control_;
};

}  // namespace corral::proc
