// How large a model's context is when nobody says: a decision from what is known of the model and of the memory. Pure;
// the engine asks it with what it has measured, the router with what is predicted, so both come to the same.
#pragma once

#include <cstdint>
#include <span>

namespace corral {

// With this a model begins, whatever memory there is; cells beyond it are made when somebody needs them.
inline constexpr std::uint32_t kFirstContext = 8192;
// What a coding agent needs for its instructions and tools, some files, and an answer.
inline constexpr std::uint32_t kAgentContext = 32768;

// One memory that holds a part of each cell.
struct ContextMemory {
  std::uint64_t per_token = 0;  // bytes that a token more takes, with its share of the buffers; 0: none
  std::uint64_t free = 0;       // bytes that the whole context could have, what it has already included
};

// Tokens of a context that may grow up to there. Half of the free memory is given to it, so that a second model still
// finds room; up to kAgentContext, three quarters. Never less than kFirstContext, never more than the model was
// `trained` with (0: not said). In steps, so that a little more or less of free memory changes nothing.
std::uint32_t automatic_context(std::uint64_t trained, std::span<const ContextMemory> memory);

// What a pool of `now` cells is made into when it must hold `needed`, at most `most`: doubled until it does, or, where
// there is too little memory for that, as much as is needed and a little more. `now` if neither is possible.
// Memory that may be taken for a moment holds the old cells beside the new ones; an eighth of it stays free.
std::uint32_t grown_context(std::uint32_t now, std::uint32_t needed, std::uint32_t most,
                            std::span<const ContextMemory> memory);

}  // namespace corral
