// Regular expressions of ECMAScript, as in `pattern` (with the flag "u"): not anchored by default.
//
// Enforced: characters, classes with \d \w \s and their negations, groups, alternatives, repetitions, ^, $, and look
// ahead. Not enforced: back references, look behind, word boundaries, \p{...}, a repetition directly after another one,
// and ^, $ or look ahead inside a part that is repeated more than a few times.
#pragma once

#include <string>
#include <string_view>

#include "json_schema/language.h"

namespace corral::json_schema {

// Thrown: why a pattern can't be enforced.
struct UnsupportedPattern {
  std::string reason;
  bool invalid = false;  // invalid regular expression, or its texts are longer than any answer
};

// The texts that contain a match. `pattern` is valid UTF-8. Throws UnsupportedPattern, TooComplex.
Language pattern_language(Languages& languages, std::string_view pattern);

}  // namespace corral::json_schema
