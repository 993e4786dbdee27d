// When a member without a link is dialled, and at which addresses. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace corral::mesh {

struct DialRules {
  // A peer whose link ended recently (or with recent news) is dialled often, so that a healed cut is detected within a
  // second. Dials overlap, because a lost first packet delays a dial by a second.
  Millis fresh_every{300};
  Millis fresh_for{60000};
  Millis fresh_limit{1500};
  Millis every{5000};
  double jitter = 0.2;  // of `every`, more or less: nodes that lost each other together don't dial in step
  Millis limit{5000};
};

bool is_fresh(const DialRules& rules, Millis gone);
// Time to the next beat, for a link that has been gone for `gone`. `random`: 0 to 1.
Millis next_beat(const DialRules& rules, Millis gone, double random);
// The time limit of a dial that begins now.
Millis dial_limit(const DialRules& rules, Millis gone);

// The indexes of the addresses (best first) that are dialled at that beat: the best one every time, the others in turn.
std::vector<std::size_t> dialled_at(std::uint64_t beat, std::size_t addresses);

}  // namespace corral::mesh
