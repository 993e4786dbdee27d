// Failure detector of a link. Each side sends a heartbeat every half second: its own stamp, the peer's last stamp, how
// long ago that came, and its in-flight requests. So each side knows both directions: arriving stamps prove the
// incoming one, returned stamps the outgoing one. Pure: no clock, no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace corral::mesh {

// A request between two nodes, by its sender's number.
using InFlightId = std::uint64_t;
inline constexpr std::size_t kMaxHeld = 256;

struct Heartbeat {
  std::uint64_t stamp = 0;       // milliseconds of the sender's own clock
  std::uint64_t echo = 0;        // the last stamp that the sender got; 0: none yet
  std::uint32_t delay = 0;       // milliseconds since then
  std::vector<InFlightId> held;  // kMaxHeld at most
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};
std::string encode(const Heartbeat& beat);
// Errors: malformed.
Result<Heartbeat> decode_heartbeat(std::string_view bytes);

struct HeartbeatSettings {
  Millis interval{500};
  Millis silence{1500};   // nothing was received for so long: dead
  Millis deafness{2000};  // no own stamp came back for so long: dead, too
};

class LinkFailureDetector {
 public:
  enum class State { alive, silent, deaf };

  LinkFailureDetector(const HeartbeatSettings& rules, MonoTime now)
      : rules_(rules), start_(now), ticked_(now), received_(now), echoed_(now) {}

  Heartbeat beat(MonoTime now, std::span<const InFlightId> held) const;
  // Call it every interval. After a late call (SIGSTOP, a busy machine) silence proves nothing, so the peer's time
  // begins anew.
  void tick(MonoTime now);
  // Any frame proves the incoming direction.
  void received(MonoTime now) { received_ = now; }
  // Ignores stamps that were never sent, or are older than a known one.
  void take(const Heartbeat& beat, MonoTime now);
  State state(MonoTime now) const;

  // Of the last heartbeat that came back; none before.
  std::optional<Millis> round_trip() const { return round_trip_; }

 private:
  std::uint64_t stamp_at(MonoTime now) const;

  HeartbeatSettings rules_;
  MonoTime start_;
  MonoTime ticked_;
  MonoTime received_;
  MonoTime echoed_;  // sending time of our newest stamp that the peer has
  std::uint64_t last_echo_ = 0;
  std::uint64_t peer_stamp_ = 0;
  MonoTime peer_stamp_at_{};
  std::optional<Millis> round_trip_;
};

}  // namespace corral::mesh
