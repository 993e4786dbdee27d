// One server at a time uses a state folder: it holds a lock on the file server.lock in it. The file also contains where
// the server listens, so that clients of the same user find it whatever its settings are by now. The kernel releases
// the lock with the process. Blocking, on any thread; a StateLock is used by one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/unique_fd.h"

namespace corral::config {

class StateLock {
 public:
  // The folder exists. Waits up to `patience` for a server that is about to end. A folder that can't be locked (on some
  // network file systems, or because it is read-only) is used without a lock, and a warning is logged. `pause` waits
  // between two attempts; empty: 20 ms.
  // Errors: device_or_resource_busy, with the folder and the other process in the message.
  static Result<StateLock> take(const std::filesystem::path& state_dir, Millis patience,
                                const std::function<void()>& pause = {});

  // Writes where this server listens, for clients.
  void publish(const std::string& host, int port) const;

 private:
  explicit StateLock(UniqueFd file) : file_(std::move(file)) {}

  UniqueFd file_;  // empty: without a lock
};

struct RunningServer {
  std::string machine = {};  // and its network: addresses mean nothing on another one, or outside of its container
  std::int64_t process = 0;
  std::string host = {};
  int port = 0;  // 0: it doesn't listen yet
};

// The server that uses the folder, on this machine and its network; nullopt: none.
std::optional<RunningServer> running_server(const std::filesystem::path& state_dir);

}  // namespace corral::config
