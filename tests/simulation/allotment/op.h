// One step of a simulated life of nodes that share models out among themselves. Whatever a step means is fixed in the
// step itself, so that any may be left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulation/groups/op.h"

namespace corral::fleet::allotment_simulation {

struct Op {
  enum class Kind : std::uint8_t {
    elapse,  // `ms` pass
    // What befalls nodes and links: as steps of groups of the same name.
    cut,
    cut_one_way,
    isolate,
    heal,
    heal_all,
    glitch,
    kill,
    start,
    crash,
    recall,
    lend,
    // What people want of models; `choice` says which one.
    ask,      // clients of `node` ask for it from now on, `other` says how often
    forget,   // ... not any more
    request,  // one request at `node`: it is loaded there if it can be and nobody serves it
    unload,   // `node` says that it shall go everywhere
    assign,   // `node` is to have it
    release,  // `node` has what it is given again
    split,    // `node` wants it over itself and `other`
    file,     // it comes onto the disk of `node`
  };
  Kind kind = Kind::elapse;
  std::uint8_t node = 0;
  std::uint8_t other = 0;
  std::uint8_t choice = 0;
  std::uint32_t ms = 0;
};

// A life of `length` steps of `nodes` nodes. Each seed has its own habits.
std::vector<Op> random_scenario(std::uint64_t seed, unsigned nodes, std::size_t length, bool all_faults = false);
// The same as a step of groups; nothing: people's.
std::optional<mesh::groups_simulation::Op> as_fault(const Op& op);

std::string describe(const Op& op);
std::string as_code(const Op& op);

}  // namespace corral::fleet::allotment_simulation
