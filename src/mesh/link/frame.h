// The messages of a link: kind (8 bits), length (32 bits), payload. Each kind has a bound, which holds before anything
// of the payload is kept. Pure; safe on every thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::mesh {

// The numbers are the wire's. Those of later versions are passed over (see FrameReader).
enum class FrameKind : std::uint8_t {
  hello = 1,      // the first one, both ways
  heartbeat = 2,  // every half second, both ways
  close = 3,      // the last one: why
  members = 4,    // a page of records of members
  join_ask = 5,   // from here on: joining
  join_proved = 6,
  join_admitted = 7,
  join_refused = 8,
  heads = 9,         // of announcements
  pages = 10,        // of one author's announcements
  ask_pages = 11,    // those that are missing
  whereabouts = 12,  // where nodes can be dialled, and whom the sender has links to
  dial_me = 13,      // "dial me": a stream that the sender can't dial itself
  // 15 and 16 order copies in earlier versions, and are passed over.
  probe_ask = 20,  // "can you dial me there?"
  probe_answer = 21,
  grant = 22,      // of a node to the host of a group, and what is said about it
  allot_ask = 23,  // "have that model", "give it back": what an administrator wants of another node
  allot_answer = 24,
};

struct Frame {
  FrameKind kind{};
  std::string payload;
  friend bool operator==(const Frame&, const Frame&) = default;
};

// Bytes that a payload of that kind may have; for kinds that this version doesn't know as well.
std::size_t max_bytes(FrameKind kind);
bool is_known(FrameKind kind);
inline constexpr std::size_t kFrameHead = 5;
inline constexpr std::size_t kLargestPage = 64 * 1024;

// With its head. The payload must be within its bound.
std::string encode(const Frame& frame);

// Cuts arriving bytes into frames. Keeps no more than one frame's bound and what was put in at once.
class FrameReader {
 public:
  // Errors: too_large, which ends the reader: what follows can't be made sense of.
  Result<> put(std::string_view bytes);
  bool has_frame() const { return !frames_.empty(); }
  // The next one of a known kind; others are passed over. has_frame() must be true.
  Frame take();

 private:
  std::string rest_;
  std::deque<Frame> frames_;
};

}  // namespace corral::mesh
