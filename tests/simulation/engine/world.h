// The cores of one worker or of some with sessions, readers and fake memories, living through a list of steps. Checked
// is:
//   one terminal item, each token once and in order, no token that the history doesn't ask for (alone, shared, parked,
//   preempted, restored, guessed ahead, computed in the lane, beside one that fails), failing only for its own tokens,
//   that nobody ends with worker_failed unless something was thrown,
//   that each pass keeps the scheduler's rules and budget (pass_rules.h), that nobody waits longer than those who were
//   there can explain (waits.h), and that at the end everybody gets through.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulation/engine/fake_memory.h"
#include "simulation/engine/op.h"

namespace corral::engine::simulation {

struct Outcome {
  std::uint64_t passes = 0;
  std::optional<std::string> violation;
  std::vector<std::string> trace;  // if asked for
  // What came to pass, so that a test can see that the lives are not too quiet.
  std::uint64_t tokens = 0, preemptions = 0, parked = 0, restored = 0, shared = 0, layout_changes = 0, accepted = 0;
  std::uint64_t growths = 0;
  std::uint64_t in_lane = 0;
  std::uint64_t in_parts = 0;  // tokens where parts are wanted whatever comes
  std::uint64_t crossed = 0;   // times that a worker took what another one had parked
  std::uint64_t failed = 0;    // generations, for tokens that can't be computed
  std::uint64_t padding = 0;   // rows that nobody wanted
  std::uint64_t superseded = 0;
  std::uint64_t unforeseen = 0;    // generations that ended with worker_failed
  std::uint64_t fresh_starts = 0;  // of workers
  std::uint64_t read_back = 0;     // entries from files
};

// `variety` picks the world: cells, batch, places, kind of memory, layout, guesses, lane, workers.
Outcome live(const std::vector<Op>& scenario, std::uint64_t variety, bool traced = false);

}  // namespace corral::engine::simulation
