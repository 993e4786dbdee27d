// When a member without a link is dialled, and where. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace corral::mesh {

struct DialRules {
  // A link that went lately (or a node that was heard of lately) is dialled often: a cut that heals is seen within a
  // second. Dials overlap, for one whose first packet was lost would wait for a second by itself.
  Millis fresh_every{300};
  Millis fresh_for{60000};
  Millis fresh_limit{1500};
  Millis every{5000};
  double jitter = 0.2;  // of `every`, more or less: nodes that lost each other together don't dial in step
  Millis limit{5000};
};

bool is_fresh(const DialRules& rules, Millis gone);
// From one beat to the next, for a link that is gone for so long. `random`: 0 to 1.
Millis next_beat(const DialRules& rules, Millis gone, double random);
// How long a dial that begins now may take.
Millis dial_limit(const DialRules& rules, Millis gone);

// Which of so many addresses, the best first, are dialled at that beat: the best one every time, the others in turn.
std::vector<std::size_t> dialled_at(std::uint64_t beat, std::size_t addresses);

}  // namespace corral::mesh
