// What may stand in the body of OpenAI's Responses API, as tables like those of protocol/fields.h: a body is checked in
// the client's own words, so that an error names the field that it sent. Tables are immutable; safe on every thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/fields.h"

namespace corral::protocol {

inline constexpr std::size_t kLongestId = 512;  // bytes, of what was kept

const FieldTable& responses_fields();            // POST responses
const FieldTable& conversation_fields();         // POST conversations
const FieldTable& conversation_change_fields();  // POST conversations/{id}
const FieldTable& conversation_items_fields();   // POST conversations/{id}/items

// What an item of `input` is to us. `foreign`: of tools that run at OpenAI; it is left out.
enum class Item : std::uint8_t {
  message,
  function_call,
  function_output,
  custom_call,
  custom_output,
  reasoning,
  reference,
  foreign,
};
// A message may come without its type.
Item item_of(json::View item);

// What a tool is. `foreign`: it runs at OpenAI, or needs a client of another kind; it is left out.
enum class Tool : std::uint8_t { function, custom, name_space, foreign };
Tool tool_of(json::View tool);

// The name of a function in a namespace, as a model sees it.
std::string name_in(std::string_view name_space, std::string_view name);

}  // namespace corral::protocol
