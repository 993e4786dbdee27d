// Rules for what stands inside the fields of a body; see Field::inside. Internal to protocol/.
#pragma once

#include "base/error.h"
#include "json/peek.h"
#include "protocol/fields.h"

namespace corral::protocol {

Result<> check_messages(json::View messages, const Path& path);
Result<> check_tools(json::View tools, const Path& path);  // tools of unknown types pass
Result<> check_tool_choice(json::View choice, const Path& path);
Result<> check_response_format(json::View format, const Path& path);
Result<> check_suffix(json::View suffix, const Path& path);
Result<> check_stream_options(json::View options, const Path& path);
Result<> check_logit_bias(json::View bias, const Path& path);
Result<> check_samplers(json::View samplers, const Path& path);
Result<> check_prompt(json::View prompt,
                      const Path& path);  // a text, texts, tokens, or lists of tokens: never mixed
Result<> check_documents(json::View documents, const Path& path);

}  // namespace corral::protocol
