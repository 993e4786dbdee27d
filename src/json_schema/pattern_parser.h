// Parses a regular expression. Used by pattern_language() only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "json_schema/char_set.h"

namespace corral::json_schema {

struct PatternPart {
  enum class Kind : std::uint8_t { characters, sequence, alternatives, repeat, look_ahead, begin, end };
  Kind kind = Kind::sequence;
  CharSet characters = {};
  std::vector<PatternPart> parts = {};
  std::uint32_t min = 0, max = 0;  // `repeat`
  bool negative = false;           // `look_ahead`
};

// Throws UnsupportedPattern.
PatternPart parse_pattern(std::string_view pattern);

}  // namespace corral::json_schema
