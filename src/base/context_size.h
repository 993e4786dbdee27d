// The automatic context of a model: computed from facts about the model and the memory. Pure. The engine passes
// measured values, the router predicted ones, so both get the same result.
#pragma once

#include <cstdint>
#include <span>

namespace corral {

// The first context of a model, whatever the memory; more cells are made when needed.
inline constexpr std::uint32_t kFirstContext = 8192;
// Context of a coding agent: its instructions and tools, some files, and an answer.
inline constexpr std::uint32_t kAgentContext = 32768;

// One memory pool that holds a part of each cell.
struct ContextMemory {
  std::uint64_t per_token = 0;  // bytes for one more token, with its part of the buffers; 0: none
  std::uint64_t free = 0;       // bytes available to the whole context, including those it has
};

// Limit of a growing context, in tokens. It gets half of the free memory, so that a second model still fits; up to
// kAgentContext three quarters. At least kFirstContext, at most the trained context (`trained`; 0: unknown). In steps,
// so that small changes of free memory have no effect.
std::uint32_t automatic_context(std::uint64_t trained, std::span<const ContextMemory> memory);

// The new number of KV cells when `now` cells are too few and `needed` are required, at most `max`: doubled until
// enough. If there is too little memory for that, `needed` and a little more; `now` if neither is possible. During the
// growth old and new cells exist together; an eighth of the memory stays free.
std::uint32_t grown_context(std::uint32_t now, std::uint32_t needed, std::uint32_t max,
                            std::span<const ContextMemory> memory);

}  // namespace corral
