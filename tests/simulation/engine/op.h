// One step of a random life: something a client does, something that goes wrong, or rounds of the worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace corral::engine::simulation {

struct Op {
  enum class Kind {
    create,    // a session; size % 8 == 7: it shares nothing
    append,    // tokens: `size` of them; which & 3: of which common beginning, if the session is empty
    generate,  // most tokens: size; which: stop strings
    cancel,
    end,
    read,    // what a stream has
    rounds,  // of the worker: size
    downsize,
    abort,      // a pass to come stops halfway
    no_memory,  // the next memory can't be made
    poison,     // as append, but one of the tokens can't be computed
    fail,       // a pass of several sessions to come fails once
    supersede,  // as generate, also where a generation runs
    throws,     // a pass to come, a memory or a job of the lane (which) throws
    no_alloc,   // allocations of the core fail: the one with number `size` from now on, and which & 3 behind it
    save,       // what is parked goes to disk
    damage,     // something happens to a file there: which
    stall,      // the disk answers nothing for a while: size
  };
  Kind kind = Kind::rounds;
  std::uint32_t session = 0;  // of those alive, counted modulo their number
  std::uint32_t size = 0;
  std::uint32_t which = 0;
};

std::string to_string(const Op& op);
// As it stands in a regression test.
std::string as_code(const Op& op);
// Some of them with a rush of short prompts.
std::vector<Op> random_scenario(std::uint64_t seed, std::size_t steps);

}  // namespace corral::engine::simulation
