#include "simulation/engine/setting.h"

#include <algorithm>
#include <array>
#include <random>

#include "engine/schedule/draft_length.h"
#include "engine/schedule/flat_costs.h"
#include "engine/schedule/pass_rows.h"
#include "simulation/engine/fake_costs.h"
#include "simulation/engine/fake_parts.h"

namespace corral::engine::simulation {

std::uint32_t Setting::max_tokens(std::uint32_t n_ctx) const {
  return worker.layout == KvLayout::split ? std::min(n_ctx, memory.cells / worker.max_sequences) : n_ctx;
}

// What came later has random numbers of its own, so that the worlds of regression tests stay what they were.
Setting pick_setting(std::uint64_t variety) {
  Setting setting;
  FakeMemoryOptions& memory = setting.memory;
  WorkerOptions& worker = setting.worker;
  std::mt19937_64 random(variety), of_lane(variety + 1), of_layout(variety + 2), of_workers(variety + 3),
      of_growth(variety + 4), of_windows(variety + 5), of_disk(variety + 6), of_costs(variety + 7),
      of_adapters(variety + 8), of_shifts(variety + 9);
  const auto one_of = [&](auto... values) {
    const std::array all{values...};
    return all[random() % sizeof...(values)];
  };
  memory.cells = one_of(128u, 256u, 512u, 1024u);
  memory.batch = one_of(16u, 32u, 64u);
  memory.max_running = one_of(2u, 4u, 8u);
  memory.vocabulary = kVocabulary;
  memory.divisible = random() % 5 != 0;
  const bool whole = !memory.divisible;
  if (!whole && of_windows() % 4 == 0) memory.window = of_windows() % 2 == 0 ? 8 : 24;
  const bool plain = !whole && memory.window == 0;
  worker.max_sequences = memory.max_running;
  worker.prefix_cache_tokens = random() % 4 == 0 ? 0 : memory.cells / 2;
  worker.layout = !plain ? KvLayout::unified : one_of(KvLayout::automatic, KvLayout::automatic, KvLayout::unified);
  if (plain && of_layout() % 8 == 0) worker.layout = KvLayout::split;
  setting.costs.foreign_cell_ms = one_of(0.0, 1e-3, 1e-1);
  setting.costs.move_cell_ms = one_of(0.0, 1e-3);
  worker.draft_tokens = one_of(0u, 0u, 4u);
  worker.draft_active = memory.max_running;
  memory.max_outputs = memory.max_running + max_draft_tokens(memory.max_running, worker.draft_tokens) + kMaxPadding;
  switch (of_costs() % 8) {
    case 0:
      setting.cost_kind = CostKind::flat;
      break;
    case 2:
      setting.cost_kind = CostKind::fickle;
      break;
    default:
      break;
  }
  setting.stream_tokens = one_of(0u, 4u, 64u);
  worker.threads = {4, 4};
  worker.max_reading = Millis{200};
  worker.lane_tokens = of_lane() % 2 == 0 ? 20 : 60;
  setting.lane = of_lane() % 2 == 0;
  if (random() % 3 != 0) setting.park_bytes = one_of(2000u, 100'000u);
  setting.disk = setting.park_bytes && of_disk() % 4 == 0;
  if (of_adapters() % 4 == 0) setting.adapter_sets = 2 + of_adapters() % 2;
  setting.shifts = of_shifts() % 6 == 0;
  constexpr std::array kWorkers = {2u, 1u, 1u, 1u, 1u, 2u, 1u, 3u};
  setting.workers = kWorkers[of_workers() % kWorkers.size()];
  if (worker.layout != KvLayout::split && of_growth() % 4 == 0) {
    worker.max_cells = memory.cells;
    memory.cells /= of_growth() % 2 == 0 ? 2 : 4;
    worker.max_prefix_cache_tokens = worker.prefix_cache_tokens;
    worker.prefix_cache_tokens = std::min(worker.prefix_cache_tokens, memory.cells / 2);
  }
  return setting;
}

std::unique_ptr<CostModel> make_costs(const Setting& setting, std::uint64_t seed) {
  switch (setting.cost_kind) {
    case CostKind::flat:
      return std::make_unique<FlatCosts>();
    case CostKind::fickle:
      return std::make_unique<FickleCosts>(seed);
    case CostKind::cpu:
      break;
  }
  return std::make_unique<CpuCosts>(setting.costs);
}

}  // namespace corral::engine::simulation
