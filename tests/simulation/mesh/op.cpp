#include "simulation/mesh/op.h"

#include <array>

#include "simulation/scenario.h"

namespace corral::mesh::simulation {
namespace {

using Kind = Op::Kind;

using Row = corral::simulation::KindRow<Op>;
constexpr std::array kRows{
    Row{Kind::elapse, "elapse", "{3} ms pass", 300, true},
    Row{Kind::say, "say", "{0} changes what it says ({2})", 160, true},
    Row{Kind::choose, "choose", "a request for model {2} at {0}, not to {1}", 120, true},
    Row{Kind::cut, "cut", "{0} and {1} are cut", 20, false},
    Row{Kind::cut_one_way, "cut_one_way", "nothing gets from {0} to {1}", 20, false},
    Row{Kind::isolate, "isolate", "{0} is isolated", 8, false},
    Row{Kind::heal, "heal", "{0} and {1} are whole again", 25, false},
    Row{Kind::heal_all, "heal_all", "all paths are whole again", 12, true},
    Row{Kind::delay, "delay", "from {0} to {1} it takes {3} ms", 25, false},
    Row{Kind::kill, "kill", "{0} is killed", 18, false},
    Row{Kind::start, "start", "{0} starts ({2})", 25, true},
    Row{Kind::pause, "pause", "{0} stands still", 10, false},
    Row{Kind::resume, "resume", "{0} goes on", 15, true},
    Row{Kind::glitch, "glitch", "the link of {0} and {1} is replaced", 10, false},
    Row{Kind::mute, "mute", "{0} gives no pages: {2}", 8, false},
    Row{Kind::lie, "lie", "{0} lies ({2}) about {1}", 25, false},
    Row{Kind::revoke, "revoke", "{0} is thrown out by {1}", 2, false},
    Row{Kind::ask, "ask", "{0} is asked for a model ({2})", 300, false},
    Row{Kind::lose, "lose", "{0} loses the files of a model, or has others ({2})", 40, false},
    Row{Kind::full, "full", "the disk of {0} is full: {2}", 8, false},
    Row{Kind::upgrade, "upgrade", "{0} gets a later version: {2}", 12, false},
};

}  // namespace

std::vector<Op> random_scenario(std::uint64_t seed, unsigned nodes, std::size_t length) {
  Dice dice(seed);
  corral::simulation::StepSampler<Op> sampler(dice, kRows);
  const auto long_pause = dice.chance(30) ? 8000u : 1500u;
  std::vector<Op> scenario;
  while (scenario.size() < length) {
    auto op = sampler.draw(nodes, 48);
    if (op.kind == Kind::elapse) op.ms = 100 * (1 + dice.roll(dice.chance(20) ? long_pause / 100 : 5));
    if (op.kind == Kind::delay) op.ms = dice.roll(3) * 100;
    if (op.kind == Kind::mute || op.kind == Kind::full || op.kind == Kind::upgrade)
      op.choice = static_cast<std::uint8_t>(op.choice % 2);
    if (op.kind == Kind::start) op.choice = static_cast<std::uint8_t>(op.choice < 24 ? 0 : op.choice < 36 ? 1 : 2);
    scenario.push_back(op);
  }
  return scenario;
}

std::string describe(const Op& op) { return corral::simulation::in_words<Op>(kRows, op); }
std::string as_code(const Op& op) { return corral::simulation::in_code<Op>(kRows, op); }

}  // namespace corral::mesh::simulation
