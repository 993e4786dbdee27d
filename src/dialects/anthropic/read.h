// Converts bodies of Anthropic's Messages API to canonical requests. Pure; safe on every thread. The tables of
// protocol/anthropic/anthropic_fields.h bound the work, which grows with the body's length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "dialects/dialect.h"

namespace corral::dialects::anthropic {

// Facts of the request that the translator of its answer needs (Canonical::facts).
struct MessageFacts {
  std::uint64_t max_tokens = 0;
  bool thoughts = false;       // requested by the client
  bool bare_thoughts = false;  // blocks of thoughts without their text
};

Result<Canonical> read_message(std::string body);
Result<Canonical> read_count(std::string body);

}  // namespace corral::dialects::anthropic
