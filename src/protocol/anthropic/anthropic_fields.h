// Field tables of bodies of Anthropic's Messages API, like those of protocol/fields.h. The client's own body is
// checked, so that an error names the client's field. Tables are immutable; safe on every thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/fields.h"

namespace corral::protocol {

const FieldTable& messages_fields();      // POST messages
const FieldTable& count_tokens_fields();  // POST messages/count_tokens

// The kind of a content block. `foreign`: it belongs to tools that run at Anthropic, and is left out.
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

// A tool that the client runs and describes itself; others are left out.
bool is_own_tool(json::View tool);

}  // namespace corral::protocol
