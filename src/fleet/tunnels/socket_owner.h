// The user at the other end of a loopback connection: a loopback port is open to all users of a machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

#include "base/error.h"

namespace corral::fleet {

// The user of the socket with `its_port`, which is connected to `our_port`, both at 127.0.0.1. The kernel answers
// (NETLINK_SOCK_DIAG, some microseconds; else /proc/net/tcp, milliseconds). Any thread. Errors: the system's own;
// no_such_process if the connection doesn't exist or is closed.
Result<uid_t> owner_on_loopback(std::uint16_t its_port, std::uint16_t our_port);

// The same from the text of /proc/net/tcp. Pure.
std::optional<uid_t> find_owner(std::string_view table, std::uint16_t its_port, std::uint16_t our_port);

}  // namespace corral::fleet
