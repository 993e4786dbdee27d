#include "mesh/link/link_failure_detector.h"

#include <algorithm>
#include <utility>

#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

std::uint64_t millis_between(MonoTime from, MonoTime to) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(std::chrono::duration_cast<Millis>(to - from).count(), 0));
}

}  // namespace

std::string encode(const Heartbeat& beat) {
  std::string bytes;
  ByteWriter out(bytes);
  out.number<std::uint64_t>(beat.stamp).number<std::uint64_t>(beat.echo).number<std::uint32_t>(beat.delay);
  const auto count = std::min(beat.held.size(), kMaxHeld);
  out.number<std::uint16_t>(static_cast<std::uint16_t>(count));
  for (std::size_t i = 0; i < count; ++i) out.number<std::uint64_t>(beat.held[i]);
  return bytes;
}

Result<Heartbeat> decode_heartbeat(std::string_view bytes) {
  ByteReader in(bytes);
  Heartbeat beat;
  beat.stamp = in.number<std::uint64_t>();
  beat.echo = in.number<std::uint64_t>();
  beat.delay = in.number<std::uint32_t>();
  const auto count = in.number<std::uint16_t>();
  if (count > kMaxHeld) return fail(errc::malformed, "a heartbeat has too many in-flight requests");
  for (std::size_t i = 0; i < count && in.ok(); ++i) beat.held.push_back(in.number<std::uint64_t>());
  // A newer version may send more fields.
  if (!in.ok()) return fail(errc::malformed, "a heartbeat is cut off");
  return beat;
}

// From 1 on: 0 means none.
std::uint64_t LinkFailureDetector::stamp_at(MonoTime now) const { return millis_between(start_, now) + 1; }

Heartbeat LinkFailureDetector::beat(MonoTime now, std::span<const InFlightId> held) const {
  Heartbeat beat{stamp_at(now), peer_stamp_, 0, {held.begin(), held.end()}};
  if (peer_stamp_ != 0) {
    beat.delay = static_cast<std::uint32_t>(std::min<std::uint64_t>(millis_between(peer_stamp_at_, now), UINT32_MAX));
  }
  return beat;
}

void LinkFailureDetector::tick(MonoTime now) {
  if (now - std::exchange(ticked_, now) >= 2 * rules_.interval) received_ = echoed_ = now;
}

void LinkFailureDetector::take(const Heartbeat& beat, MonoTime now) {
  received(now);
  if (beat.stamp > peer_stamp_) {
    peer_stamp_ = beat.stamp;
    peer_stamp_at_ = now;
  }
  if (beat.echo <= last_echo_ || beat.echo > stamp_at(now)) return;
  last_echo_ = beat.echo;
  echoed_ = std::max(echoed_, start_ + Millis(beat.echo - 1));
  const auto away = stamp_at(now) - beat.echo;
  round_trip_ = Millis(away - std::min<std::uint64_t>(beat.delay, away));
}

LinkFailureDetector::State LinkFailureDetector::state(MonoTime now) const {
  if (now - received_ >= rules_.silence) return State::silent;
  return now - echoed_ >= rules_.deafness ? State::deaf : State::alive;
}

}  // namespace corral::mesh
