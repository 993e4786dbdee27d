// Supervised child processes: what to start (ChildSpec), the starter (Spawner), the running process (Child).
//
//   spawn ──> running ──> ended (exited | killed)          destroying a Child that runs kills it
//
// A Child and all its tasks belong to the loop that called spawn(), and are used only there.
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

// One cleaned line of a child's output. The text is valid during the call only.
struct LogLine {
  bool from_stderr = false;
  std::string_view text;
};

struct ChildSpec {
  std::string name = {};               // for logs: "engine tiny-llama"
  std::vector<std::string> argv = {};  // argv[0] is the program: a path, or a name to look up in PATH
  std::map<std::string, std::optional<std::string>> environment =
      {};  // changes to the inherited environment (environment.h): a value sets, nullopt removes
  std::filesystem::path working_directory = {};  // empty: ours
  bool control_channel = false;                  // give it a ControlChannel as descriptor 3
  // The owner uses its standard input and output (write_input(), read_output()), and only stderr is its log. Otherwise
  // its input is empty, and both outputs are its log.
  bool pipes = false;
  // The program calls bind_to_parent() itself at its start (exec_mode.h), so it is started directly, without a guardian
  // (guardian.h). For our own sub-commands only. argv[0] must be a path.
  bool binds_itself = false;
  // Files to remove when the child has ended, however it ended, before another process can have its pid.
  Leftovers leftovers = {};

  LogLimits log = {};
  std::filesystem::path log_file = {};               // empty: none; else every line is appended to it (mode 0600)
  std::size_t log_file_bytes = 16 * 1024 * 1024;     // then it is renamed to "<log_file>.1" and begun anew
  bool log_begins = false;                           // at the start, too: the file has nothing of earlier processes
  std::function<void(const LogLine&)> on_line = {};  // called on the child's loop for every line
};

class Child {
 public:
  // Kills the child as kill(SIGKILL) does if it still runs, and reaps it: at once, or soon after on the loop. Waiters
  // get the status. Doesn't block.
  virtual ~Child() = default;

  virtual const std::string& name() const = 0;
  virtual pid_t pid() const = 0;
  // True until its end has been detected.
  virtual bool alive() const = 0;
  // The status, as soon as the child has ended and its last output is in log(). Any number of waiters, also afterwards;
  // cancelling a waiter doesn't affect the child.
  virtual async::Task<ExitStatus> wait() = 0;
  // Sends the signal to each process of the child's group, and to the child if it has left its group. SIGKILL also ends
  // everything that the child has started, unless it `binds_itself`. No effect after the end.
  virtual void kill(int signal) = 0;
  // SIGTERM, and SIGKILL if it still runs after `grace`. Cancelling stops the clock: no SIGKILL then.
  virtual async::Task<ExitStatus> stop(MonoClock::duration grace) = 0;
  // The last lines of stdout and stderr; kept after the end.
  virtual const LogTail& log() const = 0;
  // Null unless the spec asked for one.
  virtual ControlChannel* control() = 0;

  // For a child with `pipes`. One call of each at a time; they may overlap. Returns when the child has read all of it,
  // at its speed. Errors: channel_closed.
  virtual async::Task<Result<>> write_input(std::string text);
  // The child gets the end of its input after the written text.
  virtual void close_input() {}
  // Its output as it arrives; empty at the end. Nothing is read ahead, so a child waits until its owner reads.
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

  // Returns when the program has been executed, or the error: program_not_found, permission_denied,
  // bad_working_directory, spawn_failed, kernel_too_old. Cancelling it leaves no child.
  virtual async::Task<Result<std::unique_ptr<Child>>> spawn(ChildSpec spec) = 0;
};

}  // namespace corral::proc
