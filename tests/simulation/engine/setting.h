// What a world consists of, picked by a number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/schedule/cpu_costs.h"
#include "engine/worker/worker_core.h"
#include "simulation/engine/fake_memory.h"

namespace corral::engine::simulation {

inline constexpr std::uint32_t kSessionTokens = 400;
inline constexpr std::uint32_t kShortSession = 48;

enum class CostKind { cpu, flat, fickle };

struct Setting {
  FakeMemoryOptions memory;
  WorkerOptions worker;
  CostKind cost_kind = CostKind::cpu;
  CpuCostOptions costs;
  std::uint32_t workers = 1;
  std::uint32_t stream_tokens = 0;
  bool lane = false;
  std::optional<std::uint64_t> park_bytes;  // none: nothing is parked
  bool shifts = false;                      // contexts are short, and tokens go out of them
  std::uint32_t adapter_sets = 1;           // sessions have them in turn
  bool disk = false;                        // and there is a folder for it

  // A session is as long as its part at the most, where parts are wanted whatever comes.
  std::uint32_t max_tokens(std::uint32_t n_ctx) const;
  std::uint32_t session_tokens() const { return std::min(shifts ? kShortSession : kSessionTokens, max_cells()); }
  // That a pool has, or may grow to.
  std::uint32_t max_cells() const { return std::max(memory.cells, worker.max_cells); }
};

Setting pick_setting(std::uint64_t variety);

std::unique_ptr<CostModel> make_costs(const Setting& setting, std::uint64_t seed);

}  // namespace corral::engine::simulation
