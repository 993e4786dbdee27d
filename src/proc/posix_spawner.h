// Starts real processes.
//
// Each child gets its own process group, /dev/null as stdin, pipes as stdout and stderr, no other descriptors of ours,
// default signal handling; it dies with this object (exec_mode.h). All children are started by one thread that lives
// as long as this object, for two reasons: the parent-death signal follows the thread that started the child, and
// starting blocks (about a millisecond) until the child has executed its program.
#pragma once

#include <filesystem>
#include <thread>

#include "async/loop.h"
#include "async/timer.h"
#include "proc/child.h"

namespace corral::proc {

class PosixSpawner final : public Spawner {
 public:
  struct Options {
    std::filesystem::path own_program;  // runs run_exec_mode() on request: this program, usually own_program()
  };

  // `timers` outlives every child. The kernel kills children that still run when this object is destroyed.
  PosixSpawner(async::Timers& timers, Options options);
  ~PosixSpawner() override;
  PosixSpawner(const PosixSpawner&) = delete;
  PosixSpawner& operator=(const PosixSpawner&) = delete;

  // From any loop; the child belongs to the caller's loop.
  async::Task<Result<std::unique_ptr<Child>>> spawn(ChildSpec spec) override;

 private:
  async::Timers& timers_;
  const Options options_;
  async::Loop loop_;
  std::thread thread_;  // runs loop_
};

}  // namespace corral::proc
