// Regular expressions of ECMAScript, as `pattern` has them (with the flag "u"): not anchored unless they say so.
//
// Enforced: characters, classes with \d \w \s and their negations, groups, alternatives, repetitions, ^, $, and look
// ahead. Not enforced: back references, look behind, word boundaries, \p{...}, a repetition directly behind another
// one, and ^, $ or look ahead inside something that is repeated more than a few times.
#pragma once

#include <string>
#include <string_view>

#include "json_schema/language.h"

namespace corral::json_schema {

// Thrown: why a pattern can't be enforced.
struct UnsupportedPattern {
  std::string reason;
  bool invalid = false;  // it is no regular expression, or its texts are longer than any answer
};

// The texts in which the pattern is found. `pattern` is valid UTF-8. Throws UnsupportedPattern, TooComplex.
Language pattern_language(Languages& languages, std::string_view pattern);

}  // namespace corral::json_schema
