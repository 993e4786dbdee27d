// UTF-8 as it comes out of a tokenizer: characters split over tokens, and bytes that are no text at all. Pure
// functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace corral::engine {

// Length of the longest prefix that doesn't end inside a character: what follows it is the beginning of a character
// that later bytes can complete. Bytes that can't be part of any character count as complete.
std::size_t complete_utf8_length(std::string_view bytes);

// The text with each maximal run that can't be (the start of) a character replaced by U+FFFD (Unicode 15, 3.9,
// "substitution of maximal subparts"). Valid text comes back unchanged.
std::string valid_utf8(std::string_view bytes);

}  // namespace corral::engine
