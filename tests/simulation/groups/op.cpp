#include "simulation/groups/op.h"

#include <array>

#include <fmt/format.h>

#include "simulation/dice.h"

namespace corral::mesh::groups_simulation {
namespace {

using corral::simulation::Dice;
using Kind = Op::Kind;

struct Row {
  Kind kind;
  const char* name;
  const char* words;  // 0: node, 1: other, 2: choice, 3: ms
  std::uint32_t usual;
  bool always;  // otherwise a seed may do without
};
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

const Row& row_of(Kind kind) { return kRows[static_cast<std::size_t>(kind)]; }

}  // namespace

std::vector<Op> random_life(std::uint64_t seed, unsigned nodes, std::size_t length) {
  Dice dice(seed);
  std::array<std::uint32_t, kRows.size()> weights{};
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = kRows[i].always || dice.chance(60) ? kRows[i].usual : 0;
    total += weights[i];
  }
  const std::uint32_t longest = dice.chance(40) ? 15'000 : 4000;
  std::vector<Op> life;
  while (life.size() < length) {
    auto at = dice.roll(total);
    std::size_t i = 0;
    while (at >= weights[i]) at -= weights[i++];
    Op op;
    op.kind = kRows[i].kind;
    op.node = static_cast<std::uint8_t>(dice.roll(nodes));
    op.other = static_cast<std::uint8_t>((op.node + 1 + dice.roll(nodes - 1)) % nodes);
    op.choice = static_cast<std::uint8_t>(dice.roll(240));
    if (op.kind == Kind::elapse) op.ms = 50 * (1 + dice.roll(dice.chance(25) ? longest / 50 : 20));
    life.push_back(op);
  }
  return life;
}

std::string describe(const Op& op) {
  return fmt::format(fmt::runtime(row_of(op.kind).words), op.node, op.other, op.choice, op.ms);
}

std::string as_code(const Op& op) {
  return fmt::format("{{Op::Kind::{}, {}, {}, {}, {}}},", row_of(op.kind).name, op.node, op.other, op.choice, op.ms);
}

}  // namespace corral::mesh::groups_simulation
