// Supervised child processes: what to start (ChildSpec), who starts it (Spawner), the running thing (Child).
//
//   spawn ──> running ──> ended (exited | killed)          destroying a Child that runs kills it
//
// A Child and all its tasks live on the loop that called spawn() and are touched from there only.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "async/task.h"
#include "base/clock.h"
#include "proc/control_channel.h"
#include "proc/errors.h"
#include "proc/exit_status.h"
#include "proc/leftovers.h"
#include "proc/log_tail.h"

namespace corral::proc {

// One line of a child's output, cleaned. The text is valid during the call only.
struct LogLine {
  bool from_stderr = false;
  std::string_view text;
};

struct ChildSpec {
  std::string name = {};               // for logs: "engine tiny-llama"
  std::vector<std::string> argv = {};  // argv[0] is the program: a path, or a name to look up in PATH
  std::map<std::string, std::optional<std::string>> environment =
      {};  // changes to what is passed on of ours (environment.h): a value sets, nullopt removes
  std::filesystem::path working_directory = {};  // empty: ours
  bool control_channel = false;                  // give it a ControlChannel as descriptor 3
  // Its standard input and output are the owner's (write_input(), read_output()), and only stderr is its log. Else it
  // reads nothing, and both outputs are.
  bool pipes = false;
  // The program calls bind_to_parent() itself at its start (exec_mode.h), so it is started directly: one exec instead
  // of two. For our own sub-commands only. argv[0] must be a path.
  bool binds_itself = false;
  // Removed once it has ended in whatever way, before another process can have its pid.
  Leftovers leftovers = {};

  LogLimits log = {};
  std::filesystem::path log_file = {};               // empty: none; else every line is appended to it (mode 0600)
  std::size_t log_file_bytes = 16 * 1024 * 1024;     // then it is renamed to "<log_file>.1" and begun anew
  std::function<void(const LogLine&)> on_line = {};  // called on the child's loop for every line
};

class Child {
 public:
  // Kills the child and its process group if it still runs, and has it reaped: at once, or soon after by the loop.
  // Waiters get the status. Doesn't block.
  virtual ~Child() = default;

  virtual const std::string& name() const = 0;
  virtual pid_t pid() const = 0;
  // Until its end has been noticed.
  virtual bool alive() const = 0;
  // The status, as soon as the child has ended and its last output is in log(). Any number of waiters, also afterwards;
  // cancelling a waiter leaves the child alone.
  virtual async::Task<ExitStatus> wait() = 0;
  // To the child and its process group, once each. Nothing happens when it has ended.
  virtual void kill(int signal) = 0;
  // SIGTERM, and SIGKILL when it still runs after `grace`. Cancelling stops the clock: no SIGKILL then.
  virtual async::Task<ExitStatus> stop(MonoClock::duration grace) = 0;
  // The last lines of stdout and stderr; stays after the end.
  virtual const LogTail& log() const = 0;
  // Null unless the spec asked for one.
  virtual ControlChannel* control() = 0;

  // Of a child with `pipes`. One call of each at a time; they may overlap.
  // Returns when all of it was taken, as slowly as the child reads. Errors: channel_closed.
  virtual async::Task<Result<>> write_input(std::string text);
  // The child finds the end of its input behind what was written.
  virtual void close_input() {}
  // What it has written, as it comes; empty at the end. Nothing is read ahead, so a child that isn't listened to waits.
  virtual async::Task<Result<std::string>> read_output();
};

inline async::Task<Result<>> Child::write_input(std::string) {
  co_return fail(errc::channel_closed, "this process has no input");
}
inline async::Task<Result<std::string>> Child::read_output() {
  co_return fail(errc::channel_closed, "this process has no output of its own");
}

class Spawner {
 public:
  virtual ~Spawner() = default;

  // Returns when the program has been executed, or why it wasn't: program_not_found, permission_denied,
  // bad_working_directory, spawn_failed, kernel_too_old. Cancelling it leaves no child behind.
  virtual async::Task<Result<std::unique_ptr<Child>>> spawn(ChildSpec spec) = 0;
};

}  // namespace corral::proc
