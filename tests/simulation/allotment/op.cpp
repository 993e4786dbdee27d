#include "simulation/allotment/op.h"

#include <array>

#include "simulation/scenario.h"

namespace corral::fleet::allotment_simulation {
namespace {

using corral::simulation::Dice;
using Fault = mesh::groups_simulation::Op;
using Kind = Op::Kind;

using Row = corral::simulation::KindRow<Op>;
constexpr std::array kRows{
    Row{Kind::elapse, "elapse", "{3} ms pass", 300, true},
    Row{Kind::cut, "cut", "{0} and {1} are cut", 12, false},
    Row{Kind::cut_one_way, "cut_one_way", "nothing gets from {0} to {1}", 8, false},
    Row{Kind::isolate, "isolate", "{0} is isolated", 6, false},
    Row{Kind::heal, "heal", "{0} and {1} are whole again", 20, false},
    Row{Kind::heal_all, "heal_all", "all paths are whole again", 15, true},
    Row{Kind::glitch, "glitch", "the link of {0} and {1} is replaced", 8, false},
    Row{Kind::kill, "kill", "{0} is killed", 12, false},
    Row{Kind::start, "start", "{0} starts", 30, true},
    Row{Kind::crash, "crash", "the engine of {0} ends", 8, false},
    Row{Kind::recall, "recall", "the owner of {0} wants its memory", 6, false},
    Row{Kind::lend, "lend", "the owner of {0} lends again", 12, true},
    Row{Kind::ask, "ask", "clients of {0} ask for m{2} ({1})", 40, true},
    Row{Kind::forget, "forget", "clients of {0} ask for m{2} no more", 25, false},
    Row{Kind::request, "request", "a request at {0} for m{2}", 20, false},
    Row{Kind::unload, "unload", "{0} unloads m{2}", 6, false},
    Row{Kind::assign, "assign", "{0} is to have m{2}", 6, false},
    Row{Kind::release, "release", "{0} is released", 8, false},
    Row{Kind::split, "split", "{0} wants m{2} over itself and {1}", 6, false},
    Row{Kind::file, "file", "m{2} comes onto the disk of {0}", 6, false},
};

}  // namespace

std::vector<Op> random_scenario(std::uint64_t seed, unsigned nodes, std::size_t length, bool all_faults) {
  Dice dice(seed);
  corral::simulation::StepSampler<Op> sampler(dice, kRows, all_faults);
  const std::uint32_t longest = dice.chance(30) ? 200'000 : 20'000;
  std::vector<Op> scenario;
  while (scenario.size() < length) {
    auto op = sampler.draw(nodes, 8);
    if (op.kind == Kind::elapse) op.ms = 50 * (1 + dice.roll(dice.chance(25) ? longest / 50 : 40));
    scenario.push_back(op);
  }
  return scenario;
}

std::optional<Fault> as_fault(const Op& op) {
  const auto made = [&](Fault::Kind kind) { return Fault{kind, op.node, op.other, op.choice, op.ms}; };
  switch (op.kind) {
    case Kind::elapse:
      return made(Fault::Kind::elapse);
    case Kind::cut:
      return made(Fault::Kind::cut);
    case Kind::cut_one_way:
      return made(Fault::Kind::cut_one_way);
    case Kind::isolate:
      return made(Fault::Kind::isolate);
    case Kind::heal:
      return made(Fault::Kind::heal);
    case Kind::heal_all:
      return made(Fault::Kind::heal_all);
    case Kind::glitch:
      return made(Fault::Kind::glitch);
    case Kind::kill:
      return made(Fault::Kind::kill);
    case Kind::start:
      return made(Fault::Kind::start);
    case Kind::crash:
      return made(Fault::Kind::crash);
    case Kind::recall:
      return made(Fault::Kind::recall);
    case Kind::lend:
      return made(Fault::Kind::lend);
    default:
      return std::nullopt;
  }
}

std::string describe(const Op& op) { return corral::simulation::in_words<Op>(kRows, op); }
std::string as_code(const Op& op) { return corral::simulation::in_code<Op>(kRows, op); }

}  // namespace corral::fleet::allotment_simulation
