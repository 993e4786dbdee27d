// Tokens around a gap (infill). Their texts are those that llama.cpp searches for (llama-vocab.cpp). Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace corral::models {

// Lengths of their texts, in bytes.
inline constexpr std::size_t kShortestGapToken = 5, kLongestGapToken = 22;

// One bit for each place: in front of a gap, behind it, in it.
inline constexpr std::uint8_t kAllGapMarks = 7;
// The bit of that token; 0: it is another token.
std::uint8_t gap_mark(std::string_view token);

}  // namespace corral::models
