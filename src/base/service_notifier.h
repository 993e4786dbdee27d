// Reports the state of this process to the service manager that started it: datagrams in the format of systemd's
// sd_notify, to the socket of $NOTIFY_SOCKET. Without that variable nothing is sent. A send never waits; one that fails
// is lost. On any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace corral {

class ServiceNotifier {
 public:
  using Lookup = std::function<std::optional<std::string>(std::string_view)>;

  // Reads NOTIFY_SOCKET (a path, or a name that begins with "@"), WATCHDOG_USEC and WATCHDOG_PID.
  explicit ServiceNotifier(const Lookup& environment);
  static ServiceNotifier of_this_process();

  bool active() const { return static_cast<bool>(socket_); }
  // Silence after which the manager ends this process; nullopt: never.
  std::optional<Millis> watchdog() const { return watchdog_; }

  // The start is complete. False: the message was lost.
  bool ready() const { return send("READY=1"); }
  // One line, which `systemctl status` shows, also after the end of the process.
  void status(std::string_view line) const;
  // This process works.
  void alive() const { send("WATCHDOG=1"); }
  // The start or the stop takes at most that long from now on.
  void extend_timeout(Millis limit) const;
  // The stop begins, and takes at most that long.
  void stopping(Millis limit) const;

 private:
  bool send(std::string_view text) const;

  std::string address_;  // of the manager, in the form of the system
  UniqueFd socket_;
  std::optional<Millis> watchdog_;
};

}  // namespace corral
