// What goes out of a context that is full, so that an answer can go on: as llama-server chooses it, so that the same
// request gives the same text. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/values/options.h"

namespace corral::engine {

struct ContextCut {
  std::uint32_t keep = 0;     // tokens at the beginning that stay
  std::uint32_t discard = 0;  // so many behind them go
};
struct FullContext {
  std::uint32_t cached = 0;  // tokens in cells: all but the one that was just sampled
  std::uint32_t n_ctx = 0;
  std::uint32_t prompt = 0;  // of these, the request's
  std::uint32_t held = 0;    // at the end, not told yet: they stay
};
// Nothing: there is nothing that could go.
std::optional<ContextCut> context_cut(const ContextShift& wanted, const FullContext& full);

}  // namespace corral::engine
