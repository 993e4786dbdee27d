// Bodies of Anthropic's Messages API as canonical requests. Pure; safe on every thread. The work is bounded by the
// tables of protocol/anthropic_fields.h, and grows with the body's length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "dialects/dialect.h"

namespace corral::dialects::anthropic {

// What telling an answer takes of its request (Canonical::facts).
struct MessageFacts {
  std::uint64_t max_tokens = 0;
  bool thoughts = false;       // the client asked for them
  bool bare_thoughts = false;  // blocks of them, without what they say
};

Result<Canonical> read_message(std::string body);
Result<Canonical> read_count(std::string body);

}  // namespace corral::dialects::anthropic
