// Scenarios of simulations that are lists of steps, as those of the mesh and of its groups: drawn by lot from a table
// of the kinds of steps, and described in words and as code. An Op has kind, node, other, choice, ms.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simulation/dice.h"
#include "simulation/shrink.h"

namespace corral::simulation {

template <typename Op>
struct KindRow {
  typename Op::Kind kind;
  const char* name;
  const char* words;  // 0: node, 1: other, 2: choice, 3: ms
  std::uint32_t usual;
  bool always;  // otherwise a seed may do without
};

// Draws steps as often as their rows say, without those that this scenario excludes; `all`: it excludes none.
template <typename Op>
class StepSampler {
 public:
  StepSampler(Dice& dice, std::span<const KindRow<Op>> rows, bool all = false) : dice_(dice), rows_(rows) {
    for (const auto& row : rows) weights_.push_back(all || row.always || dice.chance(60) ? row.usual : 0);
    total_ = std::accumulate(weights_.begin(), weights_.end(), std::uint32_t{0});
  }

  // What `choices` there are and how long it takes is for who draws it to say.
  Op draw(unsigned nodes, unsigned choices) {
    auto at = dice_.roll(total_);
    std::size_t i = 0;
    while (at >= weights_[i]) at -= weights_[i++];
    Op op;
    op.kind = rows_[i].kind;
    op.node = static_cast<std::uint8_t>(dice_.roll(nodes));
    op.other = static_cast<std::uint8_t>((op.node + 1 + dice_.roll(nodes - 1)) % nodes);
    op.choice = static_cast<std::uint8_t>(dice_.roll(choices));
    return op;
  }

 private:
  Dice& dice_;
  const std::span<const KindRow<Op>> rows_;
  std::vector<std::uint32_t> weights_;
  std::uint32_t total_ = 0;
};

// Rows stand in the order of their kinds.
template <typename Op>
std::string in_words(std::span<const KindRow<Op>> rows, const Op& op) {
  const auto& row = rows[static_cast<std::size_t>(op.kind)];
  return fmt::format(fmt::runtime(row.words), op.node, op.other, op.choice, op.ms);
}
template <typename Op>
std::string in_code(std::span<const KindRow<Op>> rows, const Op& op) {
  const auto& row = rows[static_cast<std::size_t>(op.kind)];
  return fmt::format("{{Op::Kind::{}, {}, {}, {}, {}}},", row.name, op.node, op.other, op.choice, op.ms);
}

// A scenario that failed, shrunk to what is needed, in words and as code. `live(scenario, with_trace)` gives its
// outcome; `pauses`: to be tried in place of longer ones, the shortest first. `description` says which scenario it was.
template <typename Op, typename Live, typename Violation>
std::string describe_failure(const std::vector<Op>& scenario, const Violation& violation, const Live& live,
                             std::span<const std::uint32_t> pauses, const std::string& description) {
  const auto fails = [&](const std::vector<Op>& shorter) {
    const auto outcome = live(shorter, false);
    return outcome.violation && outcome.violation->rule == violation.rule;
  };
  const auto simpler = [&](const Op& op) {
    std::vector<Op> variants;
    for (const auto ms : pauses) {
      if (op.kind != Op::Kind::elapse || ms >= op.ms) continue;
      variants.push_back(op);
      variants.back().ms = ms;
    }
    return variants;
  };
  const auto merged = [](const Op& a, const Op& b) {
    const bool both = a.kind == Op::Kind::elapse && b.kind == Op::Kind::elapse;
    return both ? std::optional(Op{Op::Kind::elapse, 0, 0, 0, a.ms + b.ms}) : std::nullopt;
  };
  const auto shrunk = shrink(scenario, fails, simpler, merged);
  const auto outcome = live(shrunk, true);
  std::vector<std::string> code;
  for (const auto& op : shrunk) code.push_back(as_code(op));
  return fmt::format("{}: {} ({})\n{} of {} steps are enough:\n{}\n=> {}: {}\nas code:\n{}", description,
                     violation.rule, violation.detail, shrunk.size(), scenario.size(), fmt::join(outcome.trace, "\n"),
                     outcome.violation ? outcome.violation->rule : "",
                     outcome.violation ? outcome.violation->detail : "", fmt::join(code, "\n"));
}

}  // namespace corral::simulation
