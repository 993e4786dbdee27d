// The few fields of an IPv4 packet that a wire looks at. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace corral::wire {

struct PacketHead {
  std::uint32_t to = 0;            // in the machine's order of bytes
  bool begins_connection = false;  // TCP with SYN and without ACK
};

// nullopt for anything else than a whole IPv4 head.
std::optional<PacketHead> read_head(std::span<const std::uint8_t> packet);

}  // namespace corral::wire
