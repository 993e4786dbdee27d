// Rules for the content of fields of Anthropic's bodies; see Field::inside. Internal to protocol/.
#pragma once

#include "base/error.h"
#include "json/peek.h"
#include "protocol/fields.h"

namespace corral::protocol {

// anthropic_blocks.cpp
Result<> check_turns(json::View messages, const Path& path);
Result<> check_system(json::View blocks, const Path& path);
// anthropic_rules.cpp
Result<> check_own_tools(json::View tools, const Path& path);  // tools that Anthropic runs pass
Result<> check_choice_of_tool(json::View choice, const Path& path);
Result<> check_thinking(json::View thinking, const Path& path);
Result<> check_output_config(json::View config, const Path& path);
Result<> check_output_format(json::View format, const Path& path);
Result<> check_metadata(json::View metadata, const Path& path);
// Between fields of a body.
Result<> check_chosen_own_tool(json::View body);

}  // namespace corral::protocol
