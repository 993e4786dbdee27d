#include "simulation/engine/op.h"

#include <array>
#include <random>

#include <fmt/format.h>

namespace corral::engine::simulation {
namespace {

constexpr std::array kNames = {"create",    "append",   "generate", "cancel",    "end",    "read",
                               "rounds",    "downsize", "abort",    "no_memory", "poison", "fail",
                               "supersede", "throws",   "no_alloc", "save",      "damage", "stall"};
// How often each kind comes.
constexpr std::array kWeights = {20, 28, 32, 6, 10, 28, 60, 2, 4, 2, 2, 4, 4, 1, 2, 2, 1, 1};

// Arrivals without end, faster than they can be served: most of them short, and now and then one with a long prompt,
// which must not wait for all of them.
std::vector<Op> rush(std::mt19937_64& random, std::size_t steps) {
  using enum Op::Kind;
  const auto up_to = [&](std::uint32_t max) { return static_cast<std::uint32_t>(random() % max); };
  std::vector<Op> scenario;
  std::uint32_t alive = 0;
  while (scenario.size() < steps) {
    const std::uint32_t kind = up_to(8);
    if (kind < 4) {
      const bool large = up_to(16) == 0;
      scenario.push_back({.kind = create, .size = up_to(4) == 0 ? 0u : 7u});
      scenario.push_back(
          {.kind = append, .session = alive, .size = large ? 100 + up_to(140) : 5 + up_to(40), .which = up_to(64)});
      scenario.push_back(
          {.kind = generate, .session = alive, .size = large ? up_to(60) : 1 + up_to(3), .which = up_to(64)});
      ++alive;
    } else if (kind < 7) {
      scenario.push_back({.kind = rounds, .size = up_to(3)});
      scenario.push_back({.kind = read, .session = up_to(64)});
    } else if (alive > 16) {
      scenario.push_back({.kind = end, .session = up_to(8)});
      --alive;
    }
  }
  return scenario;
}

}  // namespace

std::string to_string(const Op& op) {
  return fmt::format("{} session {} size {} which {}", kNames.at(static_cast<std::size_t>(op.kind)), op.session,
                     op.size, op.which);
}

std::string as_code(const Op& op) {
  return fmt::format("{{.kind = {}, .session = {}, .size = {}, .which = {}}},",
                     kNames.at(static_cast<std::size_t>(op.kind)), op.session, op.size, op.which);
}

std::vector<Op> random_scenario(std::uint64_t seed, std::size_t steps) {
  std::mt19937_64 random(seed);
  if (seed % 6 == 5) return rush(random, steps);
  std::discrete_distribution<int> kind(kWeights.begin(), kWeights.end());
  std::vector<Op> scenario;
  for (std::size_t i = 0; i < steps; ++i) {
    Op op{.kind = static_cast<Op::Kind>(kind(random)),
          .session = static_cast<std::uint32_t>(random() % 64),
          .size = static_cast<std::uint32_t>(random() % 60),
          .which = static_cast<std::uint32_t>(random() % 64)};
    // Now and then a long prompt or answer.
    if (random() % 8 == 0) op.size *= 4;
    scenario.push_back(op);
  }
  return scenario;
}

}  // namespace corral::engine::simulation
