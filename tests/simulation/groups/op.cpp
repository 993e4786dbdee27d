#include "simulation/groups/op.h"

#include <array>

#include "simulation/scenario.h"

namespace corral::mesh::groups_simulation {
namespace {

using corral::simulation::Dice;
using Kind = Op::Kind;

using Row = corral::simulation::KindRow<Op>;
constexpr std::array kRows{
    Row{Kind::elapse, "elapse", "{3} ms pass", 300, true},
    Row{Kind::want, "want", "{0} is to host ({1}, {2})", 60, true},
    Row{Kind::end, "end", "{0} isn't to host any more ({2})", 10, false},
    Row{Kind::crash, "crash", "the engine of {0} ends", 10, false},
    Row{Kind::cut, "cut", "{0} and {1} are cut", 20, false},
    Row{Kind::cut_one_way, "cut_one_way", "nothing gets from {0} to {1}", 15, false},
    Row{Kind::isolate, "isolate", "{0} is isolated", 8, false},
    Row{Kind::heal, "heal", "{0} and {1} are whole again", 30, false},
    Row{Kind::heal_all, "heal_all", "all paths are whole again", 12, true},
    Row{Kind::glitch, "glitch", "the link of {0} and {1} is replaced", 8, false},
    Row{Kind::kill, "kill", "{0} is killed", 18, false},
    Row{Kind::start, "start", "{0} starts", 35, true},
    Row{Kind::pause, "pause", "{0} stands still", 12, false},
    Row{Kind::resume, "resume", "{0} goes on", 20, true},
    Row{Kind::recall, "recall", "the owner of {0} wants its memory", 8, false},
    Row{Kind::lend, "lend", "the owner of {0} lends again", 12, true},
};

}  // namespace

std::vector<Op> random_scenario(std::uint64_t seed, unsigned nodes, std::size_t length, bool all_faults) {
  Dice dice(seed);
  corral::simulation::StepSampler<Op> sampler(dice, kRows, all_faults);
  const std::uint32_t longest = dice.chance(40) ? 15'000 : 4000;
  std::vector<Op> scenario;
  while (scenario.size() < length) {
    auto op = sampler.draw(nodes, 240);
    if (op.kind == Kind::elapse) op.ms = 50 * (1 + dice.roll(dice.chance(25) ? longest / 50 : 20));
    scenario.push_back(op);
  }
  return scenario;
}

std::string describe(const Op& op) { return corral::simulation::in_words<Op>(kRows, op); }
std::string as_code(const Op& op) { return corral::simulation::in_code<Op>(kRows, op); }

}  // namespace corral::mesh::groups_simulation
