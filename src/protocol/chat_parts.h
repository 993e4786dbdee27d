// The messages, tools and schemas of a body as JSON text for libraries that are stricter than the field tables: for
// them a null member has the wrong type. Here null means "not given", at every depth. Every value that a field table
// accepts gets a form that these libraries accept. Pure functions; internal to protocol/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/peek.h"

namespace corral::protocol {

// The array of messages, with the members for chat templates. Refusals become texts, a `function_call` becomes one of
// `tool_calls`, and the role "function" becomes "tool".
std::string messages_text(json::View messages);

// The array of callable functions, only the `chosen` ones if given; "": none. Appends the index in `tools` of each of
// them to `places`.
std::string tools_text(json::View tools, const std::optional<std::vector<std::string_view>>& chosen,
                       std::vector<std::uint32_t>& places);

// A JSON schema without keywords that are null. Values (`const`, `default`, `enum`, `examples`) keep their nulls.
std::string schema_without_nulls(json::View schema);

}  // namespace corral::protocol
