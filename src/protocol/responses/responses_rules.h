// Rules for the content of fields of the Responses API; see Field::inside. Internal to protocol/.
#pragma once

#include "base/error.h"
#include "json/peek.h"
#include "protocol/fields.h"

namespace corral::protocol {

// responses_items.cpp
Result<> check_items(json::View input, const Path& path);
Result<> check_kept_items(json::View items, const Path& path);  // without references
// responses_rules.cpp
Result<> check_response_tools(json::View tools, const Path& path);
Result<> check_response_choice(json::View choice, const Path& path);
Result<> check_response_metadata(json::View metadata, const Path& path);
Result<> check_text_options(json::View text, const Path& path);
Result<> check_reasoning_options(json::View reasoning, const Path& path);
Result<> check_conversation(json::View conversation, const Path& path);
Result<> decline_prompt(json::View value, const Path& path);
// Between fields of a body.
Result<> check_response(json::View body);
Result<> check_compaction(json::View body);

}  // namespace corral::protocol
