// What happens to packets on their way from one node to another: late, lost, too many, or cut off. Pure; times are
// nanoseconds of any steady clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

namespace corral::wire {

using Nanos = std::int64_t;

inline constexpr Nanos kMilli = 1'000'000;

struct Faults {
  double delay_ms = 0;      // one way
  double jitter_ms = 0;     // up to so much more or less; the order of packets stays
  double loss_percent = 0;  // each packet by itself
  double late_percent = 0;  // come `late_ms` behind their time: others overtake them
  double late_ms = 5;
  double rate_mbit = 0;  // 0: no limit
  bool cut = false;      // nothing arrives, nor does what is under way
  bool dials = true;     // false: no TCP connection can be begun this way, as behind an address translator
};

// Every packet counts in one of them, late ones as passed too.
struct Counts {
  std::uint64_t passed = 0;
  std::uint64_t late = 0;
  std::uint64_t lost = 0;
  std::uint64_t cut = 0;
  std::uint64_t refused = 0;  // would have begun a connection
  std::uint64_t over = 0;     // more than the rate lets through
};

class Path {
 public:
  // With a limited rate, what would wait longer than this to leave is dropped.
  static constexpr Nanos kLongestQueue = 200 * kMilli;

  Faults faults;
  Counts counts;

  // When a packet that leaves now arrives, if it does.
  std::optional<Nanos> send(Nanos now, std::size_t bytes, bool begins_connection, std::mt19937_64& random);
  // It has been under way: whether it may come out at the other end.
  bool arrive();

 private:
  Nanos busy_until_ = 0;    // by packets on their way out
  Nanos last_arrival_ = 0;  // of those that keep their order
};

}  // namespace corral::wire
