// Which tokens to discard from a full context, so that a generation can continue. The same choice as llama-server's, so
// that the same request gives the same text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/kv/media_span.h"
#include "engine/values/options.h"

namespace corral::engine {

struct ContextCut {
  std::uint32_t keep = 0;     // tokens at the beginning that stay
  std::uint32_t discard = 0;  // number of tokens behind them to discard
};
struct FullContext {
  std::uint32_t cached = 0;  // tokens in cells: all but the one that was just sampled
  std::uint32_t n_ctx = 0;
  std::uint32_t prompt = 0;  // of these, tokens of the prompt
  std::uint32_t held = 0;    // at the end, not reported to the stream yet: they stay
};
// None: no token can be discarded.
std::optional<ContextCut> context_cut(const ContextShift& wanted, const FullContext& full);

// The cut, extended to whole pictures and sounds, but not beyond `end`. None: one of them ends behind it.
std::optional<ContextCut> around_media(ContextCut cut, std::span<const MediaSpan> media, std::uint32_t end);
// Removes the spans that the cut discards and moves those behind it. The cut ends inside of none.
void cut_media(std::vector<MediaSpan>& media, const ContextCut& cut);

}  // namespace corral::engine
