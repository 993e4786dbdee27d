// Halves of characters that clients cut at 16 bits, such as half an emoji: the escape \ud83d without \ude00 behind it,
// or the same as bytes. They are invalid in JSON and in UTF-8, but the JSON libraries of many languages write them, and
// readers such as Go's and JavaScript's accept them. Pure functions.
#pragma once

#include <string>

namespace corral::json {

// Replaces each of them by U+FFFD of the same length, so that places in the text stay. Returns whether there were any.
// Everything else stays, also in texts that are no JSON. Linear in the size of the text.
bool replace_lone_surrogates(std::string& text);

}  // namespace corral::json
