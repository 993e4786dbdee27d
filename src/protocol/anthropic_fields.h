// What may stand in the bodies of Anthropic's Messages API, as tables like those of protocol/fields.h: a body is
// checked in the client's own words, so that an error names the field that it sent. Tables are immutable; safe on every
// thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/fields.h"

namespace corral::protocol {

const FieldTable& messages_fields();      // POST messages
const FieldTable& count_tokens_fields();  // POST messages/count_tokens

// What a block of content is to us. `foreign`: it belongs to tools that run at Anthropic, and is left out.
enum class Block : std::uint8_t {
  text,
  image,
  document,
  search_result,
  tool_use,
  tool_result,
  thinking,
  redacted_thinking,
  foreign,
  unknown,
};
Block block_of(std::string_view type);

// A tool that the client runs and describes by itself; others are left out.
bool is_own_tool(json::View tool);

}  // namespace corral::protocol
