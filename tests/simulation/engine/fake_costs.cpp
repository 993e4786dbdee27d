#include "simulation/engine/fake_costs.h"

#include <algorithm>

namespace corral::engine::simulation {

std::uint32_t FickleCosts::filled_rows(std::uint32_t rows, std::uint32_t padding) const {
  return rows + static_cast<std::uint32_t>(passes_ % (padding + 1));
}

Turn FickleCosts::turn(std::uint32_t running, std::uint32_t) {
  return {.sessions = 1 + static_cast<std::uint32_t>(random_() % running), .trial = random_() % 4 == 0};
}

std::uint32_t FickleCosts::prompt_allowance(const PromptsView& view) const { return std::min(allowance_, view.limit); }

KvShape FickleCosts::layout(std::span<const LayoutView> sessions, LayoutFacts facts) {
  facts.foreign_cell_ms = 1;
  return choose_layout(sessions, facts);
}

}  // namespace corral::engine::simulation
