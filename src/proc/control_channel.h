// A line protocol between router and child, over a socket pair: text lines both ways, up to 1 MiB each. The child's end
// is descriptor 3. If one side ends in any way, the other side detects it at once.
//
// Used on one loop. One reader at a time; writers may overlap: their lines are sent whole, in the order of the calls.
// Destroying or closing a channel ends pending reads and writes with errc::channel_closed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "async/task.h"
#include "base/unique_fd.h"
#include "proc/errors.h"

namespace corral::proc {

inline constexpr std::size_t kMaxControlLine = 1024 * 1024;           // bytes, without the newline
inline constexpr int kControlFd = 3;                                  // in the child
inline constexpr const char* kControlVariable = "CORRAL_CONTROL_FD";  // set to 3 for a child that has a channel

class ControlChannel {
 public:
  // Takes over a connected stream socket.
  ControlChannel(async::Executor executor, UniqueFd socket);
  ~ControlChannel();
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  // The child's side: the channel named by CORRAL_CONTROL_FD, or null if the process was started without one. Removes
  // the variable from the environment, so that a second call returns null and own children don't inherit it. Call it
  // before other threads start.
  static std::unique_ptr<ControlChannel> from_environment(async::Executor executor);

  // The next line without its newline. channel_closed at the end, line_too_long ends the channel too.
  async::Task<Result<std::string>> read_line();
  // Returns when the kernel has taken the line. `line` has no newline.
  async::Task<Result<>> write_line(std::string line);
  // Returns when the other process has closed its side or ended. Reads nothing, so it may run concurrently with
  // read_line(): a child uses it to end with its parent.
  async::Task<void> until_peer_gone();

  void close();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Both ends of a new channel, close-on-exec.
struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};
std::optional<SocketPair> make_socket_pair();

}  // namespace corral::proc
