// Whose process is at the other end of a connection over this machine's loopback: a port there is open to all its
// users.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

#include "base/error.h"

namespace corral::fleet {

// The user of the socket with `its_port`, which is connected to `our_port`, both at 127.0.0.1; asked of the kernel
// (NETLINK_SOCK_DIAG, some microseconds; else /proc/net/tcp, milliseconds). Any thread. Errors: the system's own;
// no_such_process when there is no such connection, or it is closed.
Result<uid_t> owner_on_loopback(std::uint16_t its_port, std::uint16_t our_port);

// The same of the text of /proc/net/tcp. Pure.
std::optional<uid_t> find_owner(std::string_view table, std::uint16_t its_port, std::uint16_t our_port);

}  // namespace corral::fleet
