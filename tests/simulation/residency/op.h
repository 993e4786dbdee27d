// One step of a simulated life. A run is a list of them, so that it can be shrunk by leaving some out: whatever a step
// means is fixed in the step itself, never in the steps before it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "residency/settings.h"
#include "simulation/dice.h"
#include "simulation/residency/zoo.h"

namespace corral::residency::simulation {

// What happens when a model is loaded, from now on.
// `dies`: it loads, and ends in the middle of its requests.
enum class Fate : std::uint8_t { loads, missing, broken, crowded, crashes, hangs, dies };

struct Op {
  enum class Kind : std::uint8_t {
    acquire,  // a request that holds its lease for `ms`
    load,     // explicit, with `options`, and `choice` 1: pinned, 2: unpinned
    unload,
    unload_all,
    pin,       // `choice` 1: pinned, 0: not
    cancel,    // the nth of those who wait
    crash,     // the nth child
    fate,      // `choice` becomes the Fate of the model
    settings,  // `choice` slots for every type (0: unlimited), `options` 1: nuclear, `ms` patience; every fourth `nth`:
               // few may wait
    elapse,    // `ms` pass
    wall_clock,  // the wall clock jumps back by `ms`
    traits,      // what the model takes and how it may be evicted, see traits_of()
    foreign,     // other programs use `ms` bytes of memory number `choice`
    sampler,     // memory is measured within `ms`; `choice` 1: it can't be, 2: no answer
    lateness,    // memory of children that are gone comes back after `ms`
    disk,        // from now on a look at the model's files takes `ms`, and `choice` 1: finds nothing, 2: gets no answer
    simulate,    // `choice` 0: an idle-only pass, 1: above the threshold, 2: below it
    // Only in lives with peers.
    peer,   // a peer's request, as acquire
    lend,   // `choice` 0: nothing is lent any more, 1: half of each memory, 2: all of it; `options` 1: no model of the
            // owner's goes for it; `nth` % 4 + 1 lent models of each type; `ms`: see lend_by()
    share,  // a group wants its share here, and holds its lease for `ms`
    end,    // and now it doesn't
  };
  Kind kind = Kind::elapse;
  std::uint8_t animal = 0;
  std::uint8_t nth = 0;
  std::uint8_t choice = 0;
  std::uint8_t options = 0;
  std::uint32_t ms = 0;
};

// A life of `length` steps. Each seed has its own habits: which models, which kinds of steps, how busy, how fast.
// With `peers` it begins with what is lent, and other machines of a mesh want models, too. Without, it has nothing to
// do with them.
std::vector<Op> random_scenario(std::uint64_t seed, std::size_t length, bool peers = false);

std::string describe(const Op& op);
Settings settings_of(const Op& op);
// Into `settings`: what is lent, and times short enough for these lives, all from `ms`.
void lend_by(const Op& op, Settings& settings);
// `choice` 0: unknown needs, 1: known, 2: understated. `nth`: how much. `options` 0: auto_evict is off, else the
// weight; timeouts from `ms`.
Traits traits_of(const Op& op);
double pressure_of(const Op& op);

using corral::simulation::Dice;

}  // namespace corral::residency::simulation
