// The messages, tools and schemas of a body as JSON text for the libraries that read them, which are stricter than the
// field tables: to them a member that is null has the wrong type. Here null means "not given", at every depth.
// What a field table takes comes out in a form that those libraries take. Pure functions; internal to protocol/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/peek.h"

namespace corral::protocol {

// The array of messages, with the members that chat templates are given. Refusals become texts, a `function_call`
// becomes one of `tool_calls`, and the role "function" becomes "tool".
std::string messages_text(json::View messages);

// The array of functions that may be called, only the `chosen` ones if there is a choice; "" for none. Appends to
// `places` which element of `tools` each of them was.
std::string tools_text(json::View tools, const std::optional<std::vector<std::string_view>>& chosen,
                       std::vector<std::uint32_t>& places);

// A JSON schema without keywords that are null. Values (`const`, `default`, `enum`, `examples`) keep their nulls.
std::string schema_without_nulls(json::View schema);

}  // namespace corral::protocol
