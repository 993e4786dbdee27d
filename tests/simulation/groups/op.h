// One step of a simulated life of groups. A life is a list of them, so that it can be shrunk by leaving some out:
// whatever a step means is fixed in the step itself, never in the steps before it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace corral::mesh::groups_simulation {

struct Op {
  enum class Kind : std::uint8_t {
    elapse,       // `ms` pass
    want,         // `node` is to host a plan that `choice` and `other` say
    end,          // ... not any more
    crash,        // the engine of `node` ends by itself
    cut,          // nothing passes between `node` and `other`
    cut_one_way,  // nothing passes from `node` to `other`
    isolate,      // nothing passes between `node` and anybody
    heal,         // between `node` and `other`, both ways
    heal_all,
    glitch,  // the link of `node` and `other` is replaced by a new one
    kill,    // `node` with all its processes
    start,
    pause,  // the machine `node` stands still; its clock goes on
    resume,
    recall,  // the owner of `node` wants its memory back
    lend,
  };
  Kind kind = Kind::elapse;
  std::uint8_t node = 0;
  std::uint8_t other = 0;
  std::uint8_t choice = 0;
  std::uint32_t ms = 0;
};

// A life of `length` steps of `nodes` nodes. Each seed has its own habits.
std::vector<Op> random_scenario(std::uint64_t seed, unsigned nodes, std::size_t length, bool all_faults = false);

std::string describe(const Op& op);
std::string as_code(const Op& op);

}  // namespace corral::mesh::groups_simulation
