#include "simulation/engine/op.h"

#include <array>
#include <random>

#include <fmt/format.h>

namespace corral::engine::simulation {
namespace {

constexpr std::array kNames = {"create", "append",   "generate", "cancel",    "end",    "read",
                               "rounds", "downsize", "abort",    "no_memory", "poison", "fail"};
// How often each kind comes.
constexpr std::array kWeights = {10, 14, 16, 3, 5, 14, 30, 1, 2, 1, 1, 2};

}  // namespace

std::string to_string(const Op& op) {
  return fmt::format("{} session {} size {} which {}", kNames.at(static_cast<std::size_t>(op.kind)), op.session,
                     op.size, op.which);
}

std::string as_code(const Op& op) {
  return fmt::format("{{.kind = {}, .session = {}, .size = {}, .which = {}}},",
                     kNames.at(static_cast<std::size_t>(op.kind)), op.session, op.size, op.which);
}

std::vector<Op> random_life(std::uint64_t seed, std::size_t steps) {
  std::mt19937_64 random(seed);
  std::discrete_distribution<int> kind(kWeights.begin(), kWeights.end());
  std::vector<Op> life;
  for (std::size_t i = 0; i < steps; ++i) {
    Op op{.kind = static_cast<Op::Kind>(kind(random)),
          .session = static_cast<std::uint32_t>(random() % 64),
          .size = static_cast<std::uint32_t>(random() % 60),
          .which = static_cast<std::uint32_t>(random() % 64)};
    // Now and then a long prompt or answer.
    if (random() % 8 == 0) op.size *= 4;
    life.push_back(op);
  }
  return life;
}

}  // namespace corral::engine::simulation
