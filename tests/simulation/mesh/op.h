// One step of a simulated mesh. A run is a list of them, so that it can be shrunk by leaving some out: whatever a step
// means is fixed in the step itself, never in the steps before it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/dice.h"

namespace corral::mesh::simulation {

struct Op {
  enum class Kind : std::uint8_t {
    elapse,       // `ms` pass
    say,          // `node` changes what it has or does, `choice` how
    choose,       // a request for model `choice` at `node`, which may not go to `other`
    cut,          // nothing passes between `node` and `other`
    cut_one_way,  // nothing passes from `node` to `other`
    isolate,      // nothing passes between `node` and anybody
    heal,         // between `node` and `other`, both ways
    heal_all,
    delay,  // what `node` sends to `other` takes `ms`
    kill,   // the process of `node`
    start,  // again; `choice` 1: it lost its count of lives, 2: its whole disk
    pause,  // the process of `node` stands still
    resume,
    glitch,   // the link of `node` and `other` is replaced by a new one
    mute,     // `node` gives no pages, if `choice` is 1
    lie,      // `node` says what it mustn't, `choice` what, about `other`
    revoke,   // `node` is thrown out by `other`
    ask,      // somebody asks `node` for one of the models that it sees, `choice` for which; on real links alone
    lose,     // the files of a model at `node` are gone, or others, and it hasn't noticed; `choice` which
    full,     // the disk of `node` is full, if `choice` is 1
    upgrade,  // the next process of `node` is of a later version, if `choice` is 1
  };
  Kind kind = Kind::elapse;
  std::uint8_t node = 0;
  std::uint8_t other = 0;
  std::uint8_t choice = 0;
  std::uint32_t ms = 0;
};

// A life of `length` steps of a mesh of `nodes`. Each seed has its own habits: which faults, how often, how long.
std::vector<Op> random_scenario(std::uint64_t seed, unsigned nodes, std::size_t length);

std::string describe(const Op& op);
std::string as_code(const Op& op);

using corral::simulation::Dice;

}  // namespace corral::mesh::simulation
