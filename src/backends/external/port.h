// Ports for servers that don't support a socket. corral chooses a free port, passes it to the program, and verifies
// before the first request that the listening process is the one that it started.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace corral::backends {

// A free port of 127.0.0.1; 0: none. Another program may take it before it is used. It is none of those that the system
// chooses automatically for connections (net.ipv4.ip_local_port_range), unless these are all.
std::uint16_t free_port();

enum class PortOwner : std::uint8_t {
  none,
  ours,     // the process, one of its group, or one that these have started
  another,  // of this user
  hidden,   // a process whose files this user may not read, such as a container's
};

// The owner of a listening port of this machine, by /proc: about a millisecond for a few hundred sockets. `root` is the
// parent of proc/; another one for tests.
PortOwner owner_of_port(std::uint16_t port, pid_t leader, const std::filesystem::path& root = "/");
// The ports on which these processes listen, for messages.
std::vector<std::uint16_t> ports_of(pid_t leader, const std::filesystem::path& root = "/");

}  // namespace corral::backends
