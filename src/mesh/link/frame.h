// The messages of a link: kind (8 bits), length (32 bits), payload. Each kind has a bound, which is checked before any
// byte of the payload is kept. Pure; safe on every thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::mesh {

// The numbers are the wire's. Kinds of later versions are skipped (see FrameReader).
enum class FrameKind : std::uint8_t {
  hello = 1,      // the first frame, both ways
  heartbeat = 2,  // every half second, both ways
  close = 3,      // the last frame, with the reason
  members = 4,    // a page of records of members
  join_ask = 5,   // from here on: joining
  join_proved = 6,
  join_admitted = 7,
  join_refused = 8,
  heads = 9,           // of announcements
  pages = 10,          // of one author's announcements
  ask_pages = 11,      // requests missing pages
  peer_exchange = 12,  // addresses of nodes, and the nodes that the sender has links to
  dial_me = 13,        // asks for a stream that the sender can't dial itself
  // 15 and 16 order copies in earlier versions, and are skipped.
  probe_ask = 20,  // asks the peer to dial an address of the sender
  probe_answer = 21,
  grant = 22,      // of a node to the host of a group, and messages about it
  allot_ask = 23,  // an administrator's order for another node: have a model, or unload it
  allot_answer = 24,
};

struct Frame {
  FrameKind kind{};
  std::string payload;
  friend bool operator==(const Frame&, const Frame&) = default;
};

// The most bytes of a payload of that kind; also for unknown kinds.
std::size_t max_bytes(FrameKind kind);
bool is_known(FrameKind kind);
inline constexpr std::size_t kFrameHead = 5;
inline constexpr std::size_t kLargestPage = 64 * 1024;

// With its head. The payload must be within its bound.
std::string encode(const Frame& frame);

// Cuts arriving bytes into frames. Keeps at most one frame's bound and the bytes of one put().
class FrameReader {
 public:
  // Errors: too_large; then the reader is unusable, because the next frame can't be found.
  Result<> put(std::string_view bytes);
  bool has_frame() const { return !frames_.empty(); }
  // The next frame of a known kind; others are skipped. has_frame() must be true.
  Frame take();

 private:
  std::string rest_;
  std::deque<Frame> frames_;
};

}  // namespace corral::mesh
