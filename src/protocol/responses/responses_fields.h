// Field tables of bodies of OpenAI's Responses API, like those of protocol/fields.h. The client's own body is checked,
// so that an error names the client's field. Tables are immutable; safe on every thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/fields.h"

namespace corral::protocol {

inline constexpr std::size_t kLongestId = 512;  // bytes, of stored objects

const FieldTable& responses_fields();            // POST responses
const FieldTable& compaction_fields();           // POST responses/compact
const FieldTable& conversation_fields();         // POST conversations
const FieldTable& conversation_change_fields();  // POST conversations/{id}
const FieldTable& conversation_items_fields();   // POST conversations/{id}/items

// The kind of an item of `input`. `foreign`: of tools that run at OpenAI; it is left out.
enum class Item : std::uint8_t {
  message,
  function_call,
  function_output,
  custom_call,
  custom_output,
  reasoning,
  reference,
  compaction,
  foreign,
};
// A message may lack its type.
Item item_of(json::View item);

// The text of a compaction item's `encrypted_content`, and the summary in such a text; nothing: it isn't one of
// corral's.
std::string compacted(std::string_view summary);
std::optional<std::string_view> summary_in(std::string_view compacted);

// The kind of a tool. `foreign`: it runs at OpenAI, or needs another kind of client; it is left out.
enum class Tool : std::uint8_t { function, custom, name_space, foreign };
Tool tool_of(json::View tool);

// The name of a function in a namespace, for the model.
std::string name_in(std::string_view name_space, std::string_view name);

}  // namespace corral::protocol
