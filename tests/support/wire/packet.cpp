#include "packet.h"

namespace corral::wire {
namespace {

constexpr std::size_t kLeastHead = 20;
constexpr std::uint8_t kTcp = 6;
constexpr std::size_t kTcpFlags = 13;
constexpr std::uint8_t kSyn = 0x02;
constexpr std::uint8_t kAck = 0x10;

}  // namespace

std::optional<PacketHead> read_head(std::span<const std::uint8_t> packet) {
  if (packet.size() < kLeastHead || packet[0] >> 4 != 4) return std::nullopt;
  PacketHead head;
  for (std::size_t i = 16; i < 20; ++i) head.to = head.to << 8 | packet[i];
  const std::size_t flags = (packet[0] & 0x0FU) * 4 + kTcpFlags;
  const bool first_fragment = ((packet[6] & 0x1FU) << 8 | packet[7]) == 0;
  if (packet[9] == kTcp && first_fragment && flags < packet.size()) {
    head.begins_connection = (packet[flags] & (kSyn | kAck)) == kSyn;
  }
  return head;
}

}  // namespace corral::wire
