#include "engine/llama/memory_kind.h"

#include <algorithm>
#include <array>

namespace corral::engine {
namespace {

// Their caches have compressed parts or indexes beside the windows: libllama 0.5.0 aborts the process when one of their
// sequences shares a prefix, or refuses the cut.
constexpr std::array<std::string_view, 3> kIndivisible = {"deepseek4", "dflash", "dots3note"};
// Two caches: divisible, but a unified layout does not accept the saved bytes of a part.
constexpr std::array<std::string_view, 4> kTwoCaches = {"minimax-m3", "deepseek32", "glm-dsa", "hy_v4"};
// Windows that don't slide with each token but end at multiples of their length.
constexpr std::string_view kChunked = "llama4";

}  // namespace

MemoryKind memory_kind(const MemoryFacts& facts) {
  if (facts.state || std::ranges::find(kIndivisible, facts.architecture) != kIndivisible.end())
    return MemoryKind::state;
  return facts.window > 0 || std::ranges::find(kTwoCaches, facts.architecture) != kTwoCaches.end()
             ? MemoryKind::windowed
             : MemoryKind::plain;
}

std::uint32_t oldest_seen(std::uint32_t next, const MemoryFacts& facts) {
  if (facts.window == 0) return 0;
  if (facts.architecture == kChunked) return next / facts.window * facts.window;
  return next + 1 - std::min(next + 1, facts.window);
}

bool keeps_all_cells(const WindowCells& cells) {
  const std::uint64_t needed = std::uint64_t{cells.window} * cells.sequences + cells.batch;
  return needed * 4 >= std::uint64_t{cells.n_ctx} * 3;
}

}  // namespace corral::engine
