// Ports for servers that can't be given a socket: a free one is looked for and told, and before anybody is sent there
// it is checked that the process which listens on it is the one that was started.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace corral::backends {

// A port of 127.0.0.1 on which nobody listens now; 0: none could be had. Somebody else may take it before it is used.
std::uint16_t free_port();

enum class PortOwner : std::uint8_t {
  nobody,
  ours,     // the process, one of its group, or one that these have started
  another,  // of this user
  hidden,   // somebody whose files this user may not see, as a container's
};

// Who listens on that port of this machine, seen from /proc: a millisecond for each few hundred sockets. `root` holds
// proc/; another one for tests.
PortOwner owner_of_port(std::uint16_t port, pid_t leader, const std::filesystem::path& root = "/");
// On which ports they listen, for messages.
std::vector<std::uint16_t> ports_of(pid_t leader, const std::filesystem::path& root = "/");

}  // namespace corral::backends
